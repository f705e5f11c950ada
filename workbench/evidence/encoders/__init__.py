"""The encoders that turn texts into unit vectors, one module for each; chosen by ``resolve.resolve_encoder``."""
