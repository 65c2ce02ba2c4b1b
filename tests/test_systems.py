"""The campaigns' systems: padding and order mean nothing, all of a network learns, no leaks."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import pytest
import torch
from systems import EVERY, OF_WORDS, TINY, encoder_folder, tiny, tiny_transformer

import dialeval as de
from dialeval.core.collection import Collection
from dialeval.core.errors import UsageError
from dialeval.core.run import align
from dialeval.predictors import get
from dialeval.predictors.card import Card
from dialeval.predictors.network import heads_of
from dialeval.predictors.store import load_model, save_model
from dialeval.predictors.systems.assembly import Assembly, _Lesson
from dialeval.predictors.systems.fitting import Feed, batch_loss
from dialeval.predictors.systems.losses import loss_of, targets_of
from dialeval.predictors.systems.recipes import RECIPES, Net, changed, recipe_of
from dialeval.predictors.systems.system import System, system

CARD = Card(model="m", about="", language="en", rubric="r", data=[], seed=0)
every = pytest.mark.parametrize("name", EVERY)
single = pytest.mark.parametrize("name", [n for n in EVERY if not RECIPES[n].members])
encoding = pytest.mark.parametrize("name", [n for n in EVERY if n not in OF_WORDS])


@cache
def trained(name: str) -> System:
    return system(name).new(**tiny(name)).fit(de.sample("en"))


def same(first: de.Run, second: de.Run) -> None:
    """Two runs have the same distributions for the dialogues of the first."""
    gold = de.sample("en")
    found, others = align(first, gold, "skip"), align(second, gold, "skip")
    for id, values in found.items():
        given = ~np.isnan(values[:, 0])
        assert given.any()
        assert np.allclose(values[given], others[id][given], atol=1e-5)


@every
def test_padding_and_order_change_nothing(name: str) -> None:
    gold = de.sample("en")
    model = trained(name)
    together = model.predict(gold)
    assert len({*gold.lengths.tolist()}) > 3  # so that there is padding
    for place in (0, 7, len(gold) - 1):
        same(model.predict(gold.select([place])), together)
    shuffled = gold.select(np.random.default_rng(1).permutation(len(gold)))
    same(model.predict(shuffled), together)


@pytest.mark.parametrize("name", ["bl-lstm", "widm-run1", "rslde-run0"])
def test_training_does_not_depend_on_the_order(name: str) -> None:
    gold = de.sample("en")
    shuffled = gold.select(np.random.default_rng(2).permutation(len(gold)))
    again = system(name).new(**tiny(name)).fit(shuffled)
    same(again.predict(gold), trained(name).predict(gold))


@single
def test_gradients_reach_every_parameter(name: str) -> None:
    gold = de.sample("en")
    model = trained(name)
    assembly = model.assembly
    for part, network in zip(assembly.parts, assembly.networks, strict=True):
        columns = sum(len(c.columns) for c in gold.rubric.of_turns)
        beside = np.full((int(gold.offsets[-1]), columns), 0.2, np.float32)
        inputs = assembly.inputs(part.net, gold, beside if part.net.distributions else None)
        targets = targets_of(gold, part.heads, part.net)
        network.zero_grad()
        batch_loss(network, Feed(inputs), targets, np.arange(len(gold))).backward()
        unmoved = [n for n, p in network.named_parameters() if p.grad is None or not p.grad.any()]
        assert unmoved == []
        network.zero_grad()


@single
def test_what_stands_in_padding_does_not_matter(name: str) -> None:
    """Neither for the scores nor for the gradients."""
    gold = de.sample("en")
    places = np.arange(8)
    assembly = trained(name).assembly
    for part, network in zip(assembly.parts, assembly.networks, strict=True):
        if part.net.distributions or part.net.turn in ("bag", "vectors", "transformer"):
            continue  # no padded pieces; padded turns are zeros, and alone they are not there
        batch = Feed(assembly.inputs(part.net, gold)).batch(places)
        table = batch.table
        given = table if table is not None else network.embedding.get_buffer("vectors")
        before = [scores.detach() for scores in network(batch)]
        filled = given.clone()
        filled[0] = 1e3
        filled.requires_grad_()
        if table is not None:
            after = network(dataclasses.replace(batch, table=filled))
        else:
            network.embedding.vectors = filled
            after = network(batch)
            network.embedding.vectors = given
        sum(scores.square().sum() for scores in after).backward()
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(before, after, strict=True))
        assert filled.grad is not None
        assert filled.grad.any()
        assert not filled.grad[0].any()


@encoding
def test_encoders_from_a_folder(name: str, tmp_path: Path) -> None:
    """A saved model holds its transformer: the folder may go."""
    gold = de.sample("en").select(range(18))
    folder = tiny_transformer(tmp_path / "mine", "xlnet" if name == "rslde-run0" else "bert")
    model = system(name).new(**{**TINY, "encoder": folder}).fit(gold)
    assert any(note.startswith("encoder: mine (") for note in model.notes())
    run = model.predict(gold)
    save_model(model, tmp_path / "model", CARD)
    rmtree(folder)
    loaded = load_model(tmp_path / "model")
    for id, prediction in loaded.predict(gold).predictions.items():
        assert np.array_equal(prediction.values, run.predictions[id].values, equal_nan=True)


def test_two_encoders_for_a_mean(tmp_path: Path) -> None:
    gold = de.sample("en").select(range(18))
    other = tiny_transformer(tmp_path / "other", "xlnet")
    both = system("tua1-run2").new(**{**TINY, "encoder": f"{encoder_folder()},{other}"}).fit(gold)
    parts = [
        system(f"tua1-run{k}").new(**{**TINY, "encoder": folder}).fit(gold).predict(gold)
        for k, folder in enumerate((encoder_folder(), other))
    ]
    mean = np.mean([part.predictions["A"].values for part in parts], axis=0)
    assert np.allclose(both.predict(gold).predictions["A"].values, mean, atol=1e-9)
    with pytest.raises(UsageError, match="3 folders"):
        system("tua1-run2").new(encoder="a,b,c")


def test_bad_encoder_folders(refused, tmp_path: Path) -> None:
    data = tmp_path / "en.json"
    de.save(de.sample("en"), data)
    ask = ("train", "--model", "nkust-run0", "--data", data, "--out", tmp_path / "model")
    assert "no config.json" in refused(*ask, "--encoder", tmp_path)
    (tmp_path / "config.json").write_text("{}")
    assert "cannot be read" in refused(*ask, "--encoder", tmp_path)


def test_the_bundled_encoder_and_its_cache(tmp_path: Path, monkeypatch) -> None:
    """Without a folder the bundled encoder is used, and each text goes through it once."""
    from dialeval.predictors.encoder import Encoder

    gold = de.sample("en").select(range(18))
    encoded: list[str] = []
    original = Encoder.encode

    def counting(self: Encoder, texts: Any) -> Any:
        encoded.extend(texts)
        return original(self, texts)

    monkeypatch.setattr(Encoder, "encode", counting)
    runs = []
    for name in ("rslde-run0", "nkust-run0", "rslde-run0"):
        model = system(name).new(**TINY, cache=tmp_path).fit(gold)
        assert "bundled" in " ".join(model.notes())
        runs.append(model.predict(gold))
    assert len(encoded) == len(set(encoded)) > 18
    for id, prediction in runs[0].predictions.items():
        other = runs[2].predictions[id].values
        assert np.array_equal(prediction.values, other, equal_nan=True)


def test_no_network_gets_the_labels_of_what_it_learns(monkeypatch) -> None:
    """WIDM: turn distributions in the training of dialogue networks are predicted out of fold."""
    gold = de.sample("en")
    learned: dict[int, set[str]] = {}
    asked: list[tuple[int, set[str]]] = []
    given: list[Any] = []
    fit, predicted = _Lesson.fit, Assembly._predicted

    def spy_fit(self: _Lesson, part: Any, clock: Any, beside: Any) -> Any:
        network, outcome = fit(self, part, clock, beside)
        learned[id(network)] = {*self.train.ids}
        kept.append(network)
        if beside is not None:
            given.append((self.train, beside[0]))
        return network, outcome

    def spy_predicted(self: Assembly, part: Any, network: Any, test: Collection, more: Any) -> Any:
        asked.append((id(network), {*test.ids}))
        return predicted(self, part, network, test, more)

    kept: list[Any] = []  # ids of objects are unique only while they live
    monkeypatch.setattr(_Lesson, "fit", spy_fit)
    monkeypatch.setattr(Assembly, "_predicted", spy_predicted)
    system("widm-run0").new(**TINY).fit(gold)
    assert len(asked) == 4  # three folds, and what is held out to choose the epoch
    assert all(not learned[network] & ids for network, ids in asked)
    train, beside = given[0]
    assert {*train.ids} == set().union(*(ids for _, ids in asked[:3]))
    assert not np.allclose(beside, np.nan_to_num(train.gold(gold.rubric.of_turns[0])), atol=0.05)
    assert len(given) == len(gold.rubric.of_dialogues)


def test_losses() -> None:
    rubric = de.sample("en").rubric
    head = next(h for h in heads_of(rubric, 1) if h.criterion.kind == "ordinal")
    scores = torch.tensor([[0.0, 1.0, 2.0, 0.0, 0.0], [9.0, 0, 0, 0, 0]])
    gold = torch.tensor([[0.5, 0.5, 0, 0, 0], [0, 0, 0, 0, 1.0]])
    counts = torch.tensor([True, False])
    chances = scores[0].softmax(-1)
    soft = -(gold[0] * chances.log()).sum()
    assert torch.isclose(loss_of(head, scores, gold, counts, Net()), soft)
    steps = (chances[:-1] - chances[1:]) - (gold[0][:-1] - gold[0][1:])
    half = 0.5 * soft + 0.5 * (steps**2).sum()
    assert torch.isclose(loss_of(head, scores, gold, counts, Net(loss="differences")), half)
    each = scores[0].sigmoid()
    crossed = -(gold[0] * each.log() + (1 - gold[0]) * (1 - each).log()).sum()
    assert torch.isclose(loss_of(head, scores, gold, counts, Net(loss="sigmoid")), crossed)
    smooth = -((gold[0] * 0.9 + 0.02) * chances.log()).sum()
    assert torch.isclose(loss_of(head, scores, gold, counts, Net(smoothing=0.1)), smooth)
    collection = de.sample("en")
    (mode,) = targets_of(collection, [head], Net(target="mode"))
    votes = collection.gold(head.criterion)
    assert (mode.gold.sum(1) == 1).all()
    assert np.array_equal(mode.gold.argmax(1).numpy(), votes.argmax(axis=1))


def test_learning_helps() -> None:
    gold = de.sample("en")
    settings = {"units": 24, "layers": 1, "epochs": 60, "batch": 8, "rate": 1e-2}
    learned = system("bl-lstm").new(**settings, dimensions=20).fit(gold, gold).predict(gold)
    means = de.evaluate(learned, gold).mean
    uniform = de.evaluate(de.predict(gold, model="uniform"), gold).mean
    assert all(means[column] < 0.8 * uniform[column] for column in uniform)


def test_settings() -> None:
    one = changed(recipe_of("bl-lstm"), {"units": "7", "of_turns.context": "gru,transformer"})
    assert (one.of_turns.units, one.of_dialogues.units) == (7, 7)
    assert one.of_turns.context == ("gru", "transformer")
    assert one.of_dialogues.context == ("lstm",)
    for wrong, expected in (("unit", "expected one of"), ("both.units", "expected one of")):
        with pytest.raises(UsageError, match=expected):
            changed(recipe_of("bl-lstm"), {wrong: 1})
    with pytest.raises(UsageError, match="settings"):
        get("bl-lstm").new(units="many")
    with pytest.raises(UsageError, match="unknown system"):
        recipe_of("bl-lstn")


def test_train_says_what_it_used(cli, tmp_path: Path) -> None:
    data, out = tmp_path / "zh.json", tmp_path / "model"
    de.save(de.sample("zh"), data)
    sets = [x for k in ("epochs", "units", "layers") for x in ("--set", f"{k}={TINY[k]}")]
    ask = ("--data", data, "--out", out, *sets)
    assert cli("train", "--model", "wust-run0", *ask).status == 0
    assert "skip-gram" in cli("models", out).out
    run = tmp_path / "run.json"
    assert cli("predict", "--model", out, "--data", data, "--out", run).status == 0
    assert len(de.load_run(run)) == len(de.sample("zh"))
    folds = cli("crossval", "--model", "cuis-run0", "--data", data, "--folds", 2, *sets,
                "--encoder", encoder_folder(), "--json")  # fmt: skip
    assert folds.status == 0, folds.err
    assert "nugget" not in folds.json["mean"]
