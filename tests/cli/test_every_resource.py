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


def test_what_is_created_is_listed_described_changed_and_deleted(
    world: World, tmp_path: Path
) -> None:
    lives = {}
    for key, one in calls.resources().items():
        if "create" in one["verbs"]:
            lives[key] = _life(world, key, one, tmp_path)
    assert {key: said for key, said in lives.items() if said} == {}
    made_otherwise = {"node", "data_source"}
    assert calls.resources().keys() - lives.keys() == made_otherwise


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
    rows = json.loads(run("list", "--every", "-o", "json").out)
    if row_id not in [str(output.value_at(each, one["id"])) for each in rows]:
        return f"list: there is no {row_id}"
    before = run("describe", name, "-o", "json")
    if before.code:
        return f"describe: {before}"
    if {"put", "patch"} & set(one["verbs"]) and sample.body_edit:
        values = [f"--set={path}={json.dumps(value)}" for path, value in _leaves(sample.body_edit)]
        changed = run("update", name, *values)
        if changed.code:
            return f"update: {changed}"
        after = json.loads(run("describe", row_id, "-o", "json").out)
        told = {key: value for key, value in json.loads(before.out).items() if key in one["writes"]}
        for field, value in told.items():
            if field not in sample.body_edit and field != "meta" and after[field] != value:
                return f"update: {field} was {value} and is {after[field]}"
    gone = run("delete", name, "--yes")
    if gone.code:
        return f"delete: {gone}"
    return "" if (run("describe", row_id).code == 5) is (key not in STAYS) else "it is still there"


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if not isinstance(tree, dict):
        yield path, tree
        return
    for key, inner in tree.items():
        yield from _leaves(inner, f"{path}.{key}" if path else key)
