"""Methods built on `actors` and `cluster`, and the `seekray` command."""
