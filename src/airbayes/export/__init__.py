"""A trained run as files for other programs: samples of θ by name, and a predictive model in ONNX."""
