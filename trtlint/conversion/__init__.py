"""Convert an FP32 model to a strongly typed FP16 or BF16 model."""
