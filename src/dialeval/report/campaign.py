"""Finding the runs of a campaign: whose they are, in which language, and whether they are right.

Runs lie in a folder (`TEAM/runN/*.json`, `TEAM/run.json`, or flat), or are named one by one. A
manifest may say the names; otherwise the path does, and the words cn, zh, en, chinese, english in
it tell the language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from dialeval.core.collection import Collection
from dialeval.core.decode_run import load_run
from dialeval.core.errors import DataError, DialevalError, UsageError, shown
from dialeval.core.files import stem_of
from dialeval.core.language import collection_language
from dialeval.core.run import Missing, Run, align

LANGUAGES = {"cn": "zh", "zh": "zh", "chinese": "zh", "en": "en", "english": "en"}
MANIFESTS = ("manifest.toml", "manifest.json")
_ENDINGS = re.compile(r"\.(json|jsonl|ndjson|parquet)(\.gz)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """A file of a run."""

    file: Path
    run: str
    team: str | None = None
    language: str | None = None


class _Listed(msgspec.Struct, forbid_unknown_fields=True):
    file: str
    run: str
    team: str | None = None
    language: str | None = None


class _Manifest(msgspec.Struct, forbid_unknown_fields=True):
    runs: list[_Listed]


def language_in(text: str) -> str | None:
    """The language that a name tells, or None.

    >>> language_in("SLSTC-run1_en"), language_in("Chinese"), language_in("tent")
    ('en', 'zh', None)
    """
    words = re.split(r"[^A-Za-z]+", text.lower())
    return next((LANGUAGES[word] for word in words if word in LANGUAGES), None)


def without_language(text: str) -> str:
    """A name without the word that tells its language.

    >>> without_language("SLSTC-run1_en"), without_language("zh")
    ('SLSTC-run1', '')
    """
    words = "|".join(LANGUAGES)
    bare = re.sub(rf"(?i)(?<![A-Za-z])({words})(?![A-Za-z])", "", text, count=1)
    return re.sub(r"([-_. ])[-_. ]+", r"\1", bare).strip("-_. ")


def find_entries(paths: Sequence[Path], manifest: Path | None = None) -> list[Entry]:
    """The files of all runs below these folders, or these files themselves."""
    if manifest is not None:
        return _from_manifest(manifest)
    entries: list[Entry] = []
    for path in paths:
        if not path.is_dir():
            entries.append(_entry(path, ()))
            continue
        own = next((path / name for name in MANIFESTS if (path / name).is_file()), None)
        if own is not None:
            entries += _from_manifest(own)
            continue
        files = sorted(p for p in path.rglob("*") if p.is_file() and _ENDINGS.search(p.name))
        if not files:
            raise DataError(str(path), "", "no runs", "files that end in .json, .jsonl, .parquet")
        entries += [_entry(file, file.relative_to(path).parts[:-1]) for file in files]
    return entries


def _entry(file: Path, folders: Sequence[str]) -> Entry:
    stem = stem_of(file)
    language = language_in(stem) or next(filter(None, map(language_in, reversed(folders))), None)
    names = [name for name in map(without_language, folders) if name]
    own = without_language(stem) or (stem if not names else "")
    if len(names) > 1:  # TEAM/runN/anything.json
        return Entry(file, "-".join(names), names[0], language)
    if names and own:  # TEAM/run.json
        return Entry(file, f"{names[0]}-{own}", names[0], language)
    return Entry(file, own or names[0], None, language)


def _from_manifest(path: Path) -> list[Entry]:
    try:
        content = path.read_bytes()
        decode = msgspec.json.decode if path.suffix == ".json" else msgspec.toml.decode
        listed = decode(content, type=_Manifest).runs
    except OSError as error:
        found = f"no readable file ({error.strerror})"
        raise DataError(str(path), "", found, "a manifest") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        message, _, where = str(error).partition(" - at `$")
        raise DataError(str(path), where.rstrip("`").lstrip("."), message, "a manifest") from None
    entries = []
    for place, item in enumerate(listed):
        language = item.language and LANGUAGES.get(item.language.lower())
        if item.language and not language:
            expected = f"one of {', '.join(LANGUAGES)}"
            raise DataError(str(path), f"runs[{place}].language", shown(item.language), expected)
        if not item.run.strip():
            raise DataError(str(path), f"runs[{place}].run", "an empty name", "a name")
        entries.append(Entry(path.parent / item.file, item.run, item.team, language))
    if not entries:
        raise DataError(str(path), "runs", "no runs", "at least one")
    return entries


@dataclass(frozen=True)
class Campaign:
    """Golds and the runs over them, by language."""

    golds: dict[str, Collection]
    runs: dict[str, dict[str, list[Run]]]
    """By language, then by name: the parts of each run."""
    teams: dict[str, str]
    left_out: list[str]
    """What was left out, and why."""


def gold_language(path: Path, gold: Collection) -> str:
    """The language of a collection: told by its file's name, or by its text."""
    return language_in(stem_of(path)) or collection_language(gold)


def read_campaign(
    entries: Sequence[Entry],
    golds: dict[str, Collection],
    *,
    missing: Missing = "error",
    strict: bool = False,
    skip_bad: bool = False,
) -> Campaign:
    """Read and check all runs before anything is compared.

    A bad run is an error that names it, or is left out with `skip_bad`. Runs in a language
    without gold are left out.
    """
    runs: dict[str, dict[str, list[Run]]] = {language: {} for language in golds}
    teams: dict[str, str] = {}
    left_out: list[str] = []
    bad: set[tuple[str, str]] = set()
    for entry in entries:
        language = _language(entry, golds)
        if language not in golds:
            left_out.append(f"{entry.file}: no gold in its language, {language}")
            continue
        gold = golds[language]
        try:
            part = load_run(entry.file, gold.rubric, name=entry.run, strict=strict)
            align(part, gold, missing)
            parts = runs[language].setdefault(entry.run, [])
            if any(set(part.criteria) & set(other.criteria) for other in parts):
                expected = f"one file of {entry.run} for each criterion"
                raise DataError(str(entry.file), "", "criteria it has already", expected)
            parts.append(part)
        except DialevalError as error:
            if not skip_bad:
                raise
            left_out.append(str(error))
            bad.add((language, entry.run))
            continue
        if entry.team:
            teams[entry.run] = entry.team
    for language, run in bad:  # a run with one bad file is bad as a whole
        runs[language].pop(run, None)
    return Campaign(golds, {k: v for k, v in runs.items() if v}, teams, left_out)


def _language(entry: Entry, golds: dict[str, Collection]) -> str:
    if entry.language:
        return entry.language
    if len(golds) == 1:
        return next(iter(golds))
    raise UsageError(
        f"{entry.file}: its name tells no language ({', '.join(golds)}): rename it, or say it in a "
        "manifest"
    )
