"""The encoders that turn texts into unit vectors, one module for each; chosen by ``evidence.embed.resolve_encoder``."""
