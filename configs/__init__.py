"""Configuration: dataclass schema, loader, and the YAML files of this folder."""
