"""`seekray realm`, whole."""

from pipelines.realm import training_commands as training_commands  # adds its commands
from pipelines.realm.command import realm_app as realm_app
