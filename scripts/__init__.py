"""Scripts that developers or make run: tables from documents, the manual, mutation tests."""
