"""One contract for every predictor, and the commands that train, cross-validate and list them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems import EVERY as SYSTEMS
from systems import tiny
from test_rubrics import COLLECTION, OWN

import dialeval as de
from dialeval.core.collection import Collection
from dialeval.core.dialogue import Dialogue, Turn
from dialeval.core.errors import UsageError
from dialeval.predictors import Predictor, get, names
from dialeval.predictors.card import Card
from dialeval.predictors.crossval import fold_of
from dialeval.predictors.store import load_model, save_model

SMALL = {"epochs": 2, "seeds": 2, "units": 16, "projection": 16, "dimensions": 8, "least_texts": 2}
CARD = Card(model="m", about="", language="en", rubric="r", data=[], seed=0)
EVERY = [
    name for name in names() if name in ("uniform", "popularity", "fast", "accurate", *SYSTEMS)
]
every = pytest.mark.parametrize("name", EVERY)


def fitted(name: str, gold: Collection, **more: Any) -> Predictor:
    kind = get(name)
    if not kind.trainable:
        return kind()
    small = tiny(name, epochs=1) if name in SYSTEMS else SMALL
    return kind.new(**{**small, **more}).fit(gold)


def covered(name: str, run: de.Run) -> list[Any]:
    """The criteria that a model predicts: all of them, but for one system."""
    if name == "cuis-run0":
        assert run.criteria == tuple(c.id for c in run.rubric.of_dialogues)
    else:
        assert run.criteria == tuple(c.id for c in run.rubric.criteria)
    return [c for c in run.rubric.criteria if c.id in run.criteria]


@pytest.fixture
def meeting(write, tmp_path: Path) -> Collection:
    """A small collection in a user's own rubric: seven labels, three speakers, missing votes."""
    (tmp_path / "meeting.toml").write_text(OWN)
    return de.load(write("meeting.json", COLLECTION), tmp_path / "meeting.toml")


def check_distributions(name: str, run: de.Run, collection: Collection) -> None:
    """They sum to one, over the labels of the speaker, for every dialogue and judged turn."""
    for criterion in covered(name, run):
        values = run.predictions[criterion.id].values
        if criterion.scope == "turn":
            judged = collection.judged(criterion)
            assert np.isnan(values[~judged]).all()
            own = collection.own_labels(criterion)
            assert (values[judged][~own[judged]] == 0).all()
            values = values[judged]
        assert np.isfinite(values).all()
        assert (values >= 0).all()
        assert np.allclose(values.sum(axis=1), 1, atol=1e-12)


@every
def test_any_rubric(name: str, meeting: Collection) -> None:
    run = fitted(name, meeting).predict(meeting)
    if name != "popularity":  # where nobody voted, an oracle knows nothing
        check_distributions(name, run, meeting)
    assert de.evaluate(run, meeting, missing="skip").mean["pace.nmd"] >= 0


def odd(rubric: Any) -> Collection:
    """Dialogues as nobody expects them."""
    customer = lambda *posts: Turn("customer", posts)  # noqa: E731
    helpdesk = lambda *posts: Turn("helpdesk", posts)  # noqa: E731
    turns = {
        "empty": (customer(""), helpdesk()),
        "spaces": (customer("  ", "\n"), helpdesk("\t")),
        "one-speaker": (customer("hello"),),
        "only-helpdesk": (helpdesk("hello"), helpdesk("anyone?")),
        "long": tuple(customer("a") if t % 2 else helpdesk("b") for t in range(60)),
        "unknown": (customer("𝔘𝔫𝔨𝔫𝔬𝔴𝔫 \u200b\u202e ☃ ښ"), helpdesk("\x00\x7f")),
        "huge": (customer("word " * 2000), helpdesk("字" * 10_000)),
    }
    return Collection([Dialogue(id, given) for id, given in turns.items()], rubric)


@every
def test_odd_dialogues(name: str) -> None:
    gold = de.sample("en")
    collection = odd(gold.rubric)
    if get(name).needs_gold:
        with pytest.raises(de.DataError, match="oracle"):
            get(name)().predict(collection)
        return
    predictor = fitted(name, gold)
    run = predictor.predict(collection)
    check_distributions(name, run, collection)
    # A dialogue's prediction does not depend on its neighbours.
    for place in range(len(collection)):
        alone = predictor.predict(collection.select([place]))
        for criterion in covered(name, run):
            items = (
                [place] if criterion.scope == "dialogue" else collection.turns_at(np.array([place]))
            )
            expected = run.predictions[criterion.id].values[items]
            assert np.allclose(alone.predictions[criterion.id].values, expected, atol=1e-5)


@every
def test_odd_training(name: str, meeting: Collection) -> None:
    """A collection of one dialogue, or of nothing but empty turns, can be learned from."""
    check = fitted(name, meeting.select([1])).predict(meeting.select([1]))
    assert len(check) == 1
    silent = Collection(
        [Dialogue(d.id, tuple(Turn(t.sender, ("",)) for t in d.turns)) for d in meeting.dialogues],
        meeting.rubric,
        meeting.votes,
        meeting.annotators,
    )
    assert len(fitted(name, silent).predict(silent)) == 2


@every
def test_seeds_and_saving(name: str, tmp_path: Path) -> None:
    gold = de.sample("zh")
    first, again = fitted(name, gold), fitted(name, gold)
    other = fitted(name, gold, seed=1)
    run = first.predict(gold)
    save_model(first, tmp_path / "model", CARD)
    loaded = load_model(tmp_path / "model").predict(gold)
    for criterion in covered(name, run):
        values = run.predictions[criterion.id].values
        assert np.array_equal(values, again.predict(gold).predictions[criterion.id].values)
        assert np.array_equal(values, loaded.predictions[criterion.id].values)
        if get(name).trainable:
            changed = other.predict(gold).predictions[criterion.id].values
            assert not np.array_equal(values, changed)


def test_learning_helps() -> None:
    """On its own training dialogues a model must beat the uniform distribution clearly."""
    gold = de.sample("en")
    model = get("fast").new(epochs=20, batch=4, seeds=1, dimensions=20, least_texts=2).fit(gold)
    learned = de.evaluate(model.predict(gold), gold).mean
    uniform = de.evaluate(de.predict(gold, model="uniform"), gold).mean
    assert all(learned[column] < 0.8 * uniform[column] for column in uniform)


def test_numpy_and_torch_agree() -> None:
    """The network that runs is the one that was trained."""
    torch = pytest.importorskip("torch")
    from dialeval.predictors.network import heads_of, predict_distributions
    from dialeval.predictors.recipe import Recipe
    from dialeval.predictors.training import _Network

    gold = de.sample("en")
    recipe = Recipe(name="fast", units=8, projection=8, seeds=2, cutoff=0, nominal_cutoff=0)
    heads = heads_of(gold.rubric, 19)
    features = np.random.default_rng(0).normal(size=(int(gold.offsets[-1]), 5)).astype(np.float32)
    network = _Network(5, recipe, heads, seed=3).eval()
    ours = predict_distributions(network.exported(), heads, features, gold, recipe)
    # One padded batch of all dialogues.
    longest = int(gold.lengths.max())
    padded = np.zeros((len(gold), longest, 5), np.float32)
    for place in range(len(gold)):
        rows = slice(gold.offsets[place], gold.offsets[place + 1])
        padded[place, : gold.lengths[place]] = features[rows]
    with torch.no_grad():
        scores = network(torch.from_numpy(padded), torch.from_numpy(gold.lengths))
    for head in heads:
        theirs = scores[head.name].softmax(-1).mean(-2).mean(0).numpy()
        if head.criterion.scope == "dialogue":
            assert np.allclose(ours[head.criterion.id], theirs, atol=1e-5)
            continue
        for place in range(len(gold)):
            for t in range(gold.lengths[place]):
                row = gold.offsets[place] + t
                if gold.speakers[row] in head.speakers:
                    found = ours[head.criterion.id][row, list(head.columns)]
                    assert np.allclose(found, theirs[place, t], atol=1e-5)


def test_train_predict_and_card(cli, refused, tmp_path: Path) -> None:
    data, out = tmp_path / "en.json", tmp_path / "model"
    de.save(de.sample("en"), data)
    settings = [x for name, value in SMALL.items() for x in ("--set", f"{name}={value}")]
    train = ("train", "--model", "fast", "--data", data, "--out", out, *settings)
    result = cli(*train, "--dev", data)
    assert result.status == 0, result.err
    assert "epoch 2/2: loss" in result.err
    assert "dev" in result.err
    card = cli("models", out, "--json").json
    assert card["data"][0]["dialogues"] == 30
    assert card["language"] == "en"
    assert card["dependencies"]["torch"]
    assert "Terms" in cli("models", out).out
    run = tmp_path / "run.json"
    assert cli("predict", "--model", out, "--data", data, "--out", run).status == 0
    mean = de.evaluate(de.load_run(run), de.load(data)).mean
    (scores,) = card["scores"].values()
    assert scores["A.nmd"] == pytest.approx(mean["A.nmd"], abs=1e-4)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["en.json", "model", "run.json"]
    assert "expected NAME=VALUE" in refused(*train, "--set", "epochs")
    assert "setting 'epoch'" in refused(*train, "--set", "epoch=3")
    assert "settings" in refused(*train, "--set", "epochs=many")
    assert "nothing to learn" in refused("train", "--model", "uniform", *train[3:7])
    de.save(de.sample("en").without_votes(), tmp_path / "bare.json")
    bare = ("train", "--model", "fast", "--data", tmp_path / "bare.json", "--out", out)
    assert "no votes" in refused(*bare)


def test_an_interrupted_training_goes_on(tmp_path: Path) -> None:
    """Stopped after the first epoch it leaves no model; the second call gives the same model."""
    gold = de.sample("en")

    class Stop(Exception):
        pass

    def stop(epoch: Any) -> None:
        if epoch.number == 2:
            raise Stop

    checkpoint = tmp_path / "checkpoint"
    kind = get("fast")
    with pytest.raises(Stop):
        kind.new(**{**SMALL, "epochs": 4}).fit(gold, progress=stop, checkpoint=checkpoint)
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint"]
    seen: list[int] = []
    resumed = kind.new(**{**SMALL, "epochs": 4}).fit(
        gold, progress=lambda epoch: seen.append(epoch.number), checkpoint=checkpoint
    )
    assert seen == [2, 3, 4]
    straight = kind.new(**{**SMALL, "epochs": 4}).fit(gold)
    for id, prediction in resumed.predict(gold).predictions.items():
        assert np.allclose(
            prediction.values, straight.predict(gold).predictions[id].values, equal_nan=True
        )


def test_a_failed_save_leaves_the_old_model(tmp_path: Path, monkeypatch) -> None:
    predictor = get("uniform")()
    save_model(predictor, tmp_path / "model", CARD)
    before = {p.name: p.read_bytes() for p in (tmp_path / "model").iterdir()}
    monkeypatch.setattr("dialeval.predictors.store.card_text", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_model(predictor, tmp_path / "model", CARD)
    assert {p.name: p.read_bytes() for p in (tmp_path / "model").iterdir()} == before
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="not a model"):
        save_model(predictor, tmp_path / "mine", CARD)


def test_damaged_models(refused, tmp_path: Path) -> None:
    data = tmp_path / "en.json"
    de.save(de.sample("en"), data)
    save_model(get("uniform")(), tmp_path / "model", CARD)
    ask = ("predict", "--model", tmp_path / "model", "--data", data, "--out", tmp_path / "r.json")
    (tmp_path / "model/weights.npz").write_bytes(b"no")
    assert "cannot be loaded" in refused(*ask)
    text = (tmp_path / "model/model.json").read_text()
    (tmp_path / "model/model.json").write_text(text.replace('"format": 1', '"format": 9'))
    assert "found 9" in refused(*ask)
    (tmp_path / "model/model.json").write_text("{")
    assert "a model" in refused(*ask)
    assert not (tmp_path / "r.json").exists()


def test_crossval(cli, refused, tmp_path: Path) -> None:
    data, out = tmp_path / "zh.json", tmp_path / "oof.json"
    gold = de.sample("zh")
    de.save(gold, data)
    settings = [x for name, value in SMALL.items() for x in ("--set", f"{name}={value}")]
    ask = ("crossval", "--model", "fast", "--data", data, "--folds", 3, *settings)
    found = cli(*ask, "--out", out, "--json")
    assert found.status == 0, found.err
    assert found.err.count("fold ") == 3
    run = de.load_run(out)
    assert run.ids == gold.ids
    mean = de.evaluate(run, gold).to_json()
    assert found.json["mean"]["quality"]["nmd"]["A"] == pytest.approx(mean["quality"]["nmd"]["A"])
    assert len(found.json["folds"]) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["oof.json", "zh.json"]
    # A held-out dialogue's own votes have no part in its prediction.
    fold = fold_of(gold.ids, 3)
    held = np.flatnonzero(fold == 0)
    model = get("fast").new(**SMALL).fit(gold.select(np.flatnonzero(fold != 0)))
    expected = model.predict(gold.select(held)).predictions["A"].values
    assert np.allclose(run.predictions["A"].values[held], expected, atol=1e-9)
    assert "folds" in refused(*ask[:6], 1, *settings)


def test_crossval_is_the_same_wherever_it_runs(cli, dask: str, tmp_path: Path) -> None:
    data = tmp_path / "en.json"
    de.save(de.sample("en"), data)
    settings = [x for name, value in SMALL.items() for x in ("--set", f"{name}={value}")]
    ask = ("crossval", "--model", "fast", "--data", data, "--folds", 3, *settings)
    found = []
    for way in ((), ("--jobs", 2), ("--engine", "dask", "--scheduler", dask)):
        out = tmp_path / "oof.json"
        result = cli(*ask, *way, "--out", out, "--json")
        assert result.status == 0, result.err
        found.append((result.out, out.read_bytes()))
        out.unlink()
    assert found[0] == found[1] == found[2]


def test_folds_depend_on_ids_only() -> None:
    ids = [f"d{k}" for k in range(23)]
    fold = dict(zip(ids, fold_of(ids, 5, seed=4).tolist(), strict=True))
    turned = ids[::-1]
    assert fold == dict(zip(turned, fold_of(turned, 5, seed=4).tolist(), strict=True))
    assert sorted(np.bincount([*fold.values()]).tolist()) == [4, 4, 5, 5, 5]
    assert fold != dict(zip(ids, fold_of(ids, 5, seed=5).tolist(), strict=True))


def test_parallel_collections_teach() -> None:
    """Dialogues of another language join in; without a common id it is refused."""
    chinese = de.sample("zh")
    few = chinese.select(range(12))
    translated = Collection(
        [
            Dialogue(d.id, tuple(Turn(t.sender, ("hello there",)) for t in d.turns))
            for d in few.dialogues
        ],
        few.rubric,
        few.votes,
        few.annotators,
    )
    with_more = get("fast").new(language="en", **SMALL).fit(translated, parallel=chinese)
    alone = get("fast").new(language="en", **SMALL).fit(translated)
    gold = de.sample("en")
    first, second = with_more.predict(gold), alone.predict(gold)
    assert not np.array_equal(first.predictions["A"].values, second.predictions["A"].values)
    with pytest.raises(de.DataError, match="no dialogue in both"):
        get("fast").new(**SMALL).fit(gold, parallel=chinese)


def test_models_lists_everything(cli, refused) -> None:
    listed = {row["model"]: row for row in cli("models", "--json").json}
    assert {"uniform", "popularity", "fast", "accurate"} <= set(listed)
    assert listed["accurate"]["extra"] == "models"
    assert "did you mean" in refused("models", "fast-eng")
    assert "must be" not in cli("models").out


def test_importing_dialeval_imports_no_torch() -> None:
    code = (
        "import sys, dialeval as de\n"
        "gold = de.sample('en')\n"
        "de.predict(gold, 'uniform')\n"
        "assert not {'torch', 'sklearn', 'onnxruntime'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_model(refused, tmp_path: Path) -> None:
    data = tmp_path / "en.json"
    data.write_text(
        json.dumps([{"id": "a", "turns": [{"sender": "customer", "utterances": ["x"]}]}])
    )
    ask = ("--data", data, "--out", tmp_path / "r.json")
    assert "did you mean 'accurate'" in refused("predict", "--model", "acurate", *ask)
