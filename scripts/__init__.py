"""What is run by hand or by make: tables made from documents, the site of the manual."""
