"""Each kind of thing from its creation to its end by command, from the registry's own samples."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gangline_cli import output
from gangline_sdk import calls
from tests.resources.samples import SAMPLES
from tests.support.inside import Done, command
from tests.support.world import World, make_world


@pytest.fixture
def world(db: None) -> World:
    return make_world()


MADE_OTHERWISE = {"node", "data_source"}
ALIKE = {"pvc", "s3", "git", "host_path", "config_map", "secret_volume"}
"""Data sources that are what ``nfs`` is, with other fields."""
ALIKE |= {"access_key", "compute", "department", "personal_credential"}
"""What service accounts, environments, projects and credentials are."""


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(sorted(calls.resources().keys() - ALIKE - MADE_OTHERWISE), id="kinds"),
        pytest.param(sorted(ALIKE), id="alike", marks=pytest.mark.thorough),
    ],
)
def test_what_is_created_is_described_changed_and_deleted(
    world: World, tmp_path: Path, kinds: list[str]
) -> None:
    lives = {key: _life(world, key, calls.resource(key), tmp_path) for key in kinds}
    assert {key: said for key, said in lives.items() if said} == {}


STAYS = {"storage_class": "what a cluster has is there without its configuration too"}


def _life(world: World, key: str, one: dict[str, Any], folder: Path) -> str:
    """Where it went wrong; empty if it did not."""
    word, sample = key.replace("_", "-"), SAMPLES[key]
    assert sample.body is not None
    path = folder / "body.json"

    def run(*words: str) -> Done:
        return command(world, "administrator", folder, word, *words)

    path.write_text(json.dumps(sample.body(world, f"by-{word}")))
    made = run("create", "-f", str(path), "-o", "json")
    if made.code:
        return f"create: {made}"
    row = json.loads(made.out)
    name, row_id = (str(output.value_at(row, one[part])) for part in ("name", "id"))
    before = run("describe", name, "-o", "json")
    if before.code:
        return f"describe: {before}"
    if {"put", "patch"} & set(one["verbs"]) and sample.body_edit:
        values = [f"--set={path}={json.dumps(value)}" for path, value in _leaves(sample.body_edit)]
        changed = run("update", name, *values)
        if changed.code:
            return f"update: {changed}"
        after = json.loads(run("describe", name, "-o", "json").out)
        told = {key: value for key, value in json.loads(before.out).items() if key in one["writes"]}
        for field, value in told.items():
            if field not in sample.body_edit and field != "meta" and after[field] != value:
                return f"update: {field} was {value} and is {after[field]}"
    gone = run("delete", name, "--yes")
    if gone.code:
        return f"delete: {gone}"
    rows = json.loads(run("list", "--every", "-o", "json").out)
    is_there = row_id in [str(output.value_at(each, one["id"])) for each in rows]
    return "" if is_there is (key in STAYS) else f"delete: it is there: {is_there}"


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if not isinstance(tree, dict):
        yield path, tree
        return
    for key, inner in tree.items():
        yield from _leaves(inner, f"{path}.{key}" if path else key)
