"""Small models of every operator and attribute: what NVIDIA's parser makes of them against what ONNX says."""
