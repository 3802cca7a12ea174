"""`seekray corag`, whole."""

from pipelines.corag import training_commands as training_commands  # adds its commands
from pipelines.corag.command import corag_app as corag_app
