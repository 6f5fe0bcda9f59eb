"""Random small models: verdicts of NVIDIA's parser and builder, compared with trtlint's predictions."""
