"""Reads a configuration: YAML file or built-in name, then `a.b=c` overrides, checked as a whole.

    config = load_rewriter("basic/smollm2", ["train.steps=20"])

Everything that is wrong is said at once, in one `ConfigError`.
"""

import dataclasses
import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import yaml  # type: ignore[import-untyped]
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from configs.corag import CoragConfig
from configs.realm import RealmConfig
from configs.schema import RewriterConfig

BUILT_IN = Path(__file__).parent


class ConfigError(ValueError):
    """A configuration that cannot be used. `problems` holds one line per fault."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class Checked(Protocol):
    """A frozen dataclass that knows its own impossible values."""

    def problems(self) -> list[str]:
        """Every value that cannot work, as `section.name: why`."""
        ...


C = TypeVar("C", bound=Checked)


def load_rewriter(path: Path | str | None, overrides: Sequence[str] = ()) -> RewriterConfig:
    """The configuration of a rewriter run. `path` may be a built-in name such as `basic/smollm2`,
    or None for the defaults; overrides are `section.name=value`. Raises `ConfigError`."""
    return load(RewriterConfig, path, overrides)


def load_corag(path: Path | str | None, overrides: Sequence[str] = ()) -> CoragConfig:
    """The configuration of chunk-order search, read like `load_rewriter`'s."""
    return load(CoragConfig, path, overrides)


def load_realm(path: Path | str | None, overrides: Sequence[str] = ()) -> RealmConfig:
    """The configuration of step-wise retrieval, read like `load_rewriter`'s."""
    return load(RealmConfig, path, overrides)


def load(schema: type[C], path: Path | str | None, overrides: Sequence[str] = ()) -> C:
    """An instance of `schema` (a tree of frozen dataclasses) from file and overrides. Raises
    `ConfigError` with every unknown key, wrong type, missing value and impossible value."""
    config = _writable(schema)
    problems: list[str] = []
    unread = False
    if path is not None:
        values, problems = _read(path)
        unread = bool(problems)
        problems += _apply(config, values, str(path))
    for item in overrides:
        name, equals, text = item.partition("=")
        if not equals or not name.strip():
            problems.append(f"{item}: an override is written section.name=value")
            continue
        try:  # `name=` means the empty text, not null
            dotlist = [item if text.strip() else f"{name}=''"]
            parsed = OmegaConf.to_container(OmegaConf.from_dotlist(dotlist))
        except (OmegaConfBaseException, yaml.YAMLError, ValueError) as error:
            problems.append(f"{name}: {_first_line(error)} (in override)")
            continue
        problems += _apply(config, cast(dict[str, Any], parsed), "override")
    if unread:  # what is missing or contradictory without the file means nothing
        raise ConfigError(problems)
    missing = sorted(_missing(config))
    faulty = {problem.split(":", 1)[0] for problem in problems}
    problems += [f"{key}: a value is needed" for key in missing if key not in faulty]
    loaded, more = _build(config, missing)
    problems += [p for p in more if p.split(":", 1)[0] not in {*missing, *faulty}]
    if problems:
        raise ConfigError(problems)
    return cast(C, loaded)


def to_yaml(config: object) -> str:
    """The whole configuration as YAML; loading it gives an equal configuration."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def built_in_names() -> list[str]:
    """Names of the configurations that ship with the package, e.g. `basic/smollm2`."""
    return sorted(
        f.relative_to(BUILT_IN).with_suffix("").as_posix() for f in BUILT_IN.rglob("*.yaml")
    )


def _writable(schema: type) -> DictConfig:
    config = OmegaConf.structured(schema)
    # A frozen dataclass makes its section read-only; values are set one by one here.
    for field in dataclasses.fields(schema):
        section = OmegaConf.get_type(config, field.name)
        if dataclasses.is_dataclass(section):
            OmegaConf.set_readonly(config[field.name], False)
    OmegaConf.set_readonly(config, False)
    return cast(DictConfig, config)


def _read(path: Path | str) -> tuple[dict[str, Any], list[str]]:
    file = Path(path).expanduser()
    if not file.is_file() and not file.suffix:
        file = BUILT_IN / f"{path}.yaml"
        if not file.is_file():
            near = difflib.get_close_matches(str(path), built_in_names(), n=1, cutoff=0.4)
            hint = f"Did you mean: {near[0]!r}?" if near else f"Built in: {built_in_names()}"
            return {}, [f"{path}: no such file or built-in configuration. {hint}"]
    try:
        parsed = OmegaConf.to_container(OmegaConf.create(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        return {}, [f"{path}: cannot be read: {error}"]
    except (yaml.YAMLError, OmegaConfBaseException) as error:
        return {}, [f"{path}: {' '.join(str(error).split())}"]
    if not isinstance(parsed, dict):
        return {}, [f"{path}: holds a {type(parsed).__name__}, not sections of values"]
    return cast(dict[str, Any], parsed), []


def _apply(config: DictConfig, values: Mapping[str, Any], source: str) -> list[str]:
    """Sets every leaf on its own, so that one fault does not hide the next."""
    problems = []
    for key, value in _leaves(config, values):
        try:
            OmegaConf.update(config, key, value, merge=False)
        except (OmegaConfBaseException, ValueError, TypeError, AttributeError) as error:
            problems.append(f"{key}: {_first_line(error)} (in {source})")
    return problems


def _leaves(
    node: DictConfig, values: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        known = isinstance(key, str) and key in node.keys()  # noqa: SIM118 (MISSING counts)
        child = node._get_node(key) if known else None
        if isinstance(value, Mapping) and isinstance(child, DictConfig):
            yield from _leaves(child, value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _missing(node: DictConfig, prefix: str = "") -> Iterator[str]:
    # OmegaConf.missing_keys() resolves what it passes, and stops at a reference that leads nowhere.
    for key in node.keys():  # noqa: SIM118 (a DictConfig iterates over values that are not missing)
        name = f"{prefix}{key!s}"
        child = node._get_node(key)
        if isinstance(child, DictConfig):
            yield from _missing(child, f"{name}.")
        elif OmegaConf.is_missing(node, key):
            yield name


def _build(config: DictConfig, missing: Sequence[str]) -> tuple[object, list[str]]:
    """The dataclass and its own problems; missing values get a stand-in so that the rest of their
    section is checked too."""
    trial = config.copy()
    for key in missing:
        OmegaConf.update(trial, key, _stand_in(trial, key))
    try:
        loaded = OmegaConf.to_object(trial)
    except (OmegaConfBaseException, ValueError, TypeError) as error:
        key = getattr(error, "full_key", None) or "configuration"
        return None, [f"{key}: {_first_line(error)}"]
    return loaded, cast(Checked, loaded).problems()


def _stand_in(config: DictConfig, key: str) -> Any:
    section, _, name = key.rpartition(".")
    node = OmegaConf.select(config, section) if section else config
    kind = cast(Any, node._get_node(name))._metadata.ref_type
    return {int: 1, float: 1.0, bool: False}.get(kind, "unset")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
