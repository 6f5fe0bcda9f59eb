"""Random probes: what NVIDIA's parser and builder say of small models, and what trtlint predicts."""
