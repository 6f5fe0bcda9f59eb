"""What an engine is built for."""
