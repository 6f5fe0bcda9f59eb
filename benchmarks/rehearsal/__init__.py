"""What ``trtlint measure`` says of models, against an arithmetic that shares no code with it."""
