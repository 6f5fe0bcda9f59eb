"""Small models of every operator and attribute: results of NVIDIA's parser compared with ONNX's results."""
