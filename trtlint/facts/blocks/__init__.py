"""What kinds of facts share: walks, blocks of operators, and what tells them apart."""
