"""The recipes: what each run of the two campaigns was, as far as its team told.

A recipe is one network for the criteria of turns and one for those of dialogues (or one for both).
A network encodes each turn, then the dialogue over its turns, and has a head for every criterion.
`docs/systems.md` says what was known and what is ours.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from dialeval.core.errors import UsageError, unknown_name

Turn = Literal["bag", "words", "cnn", "gated-cnn", "vectors", "sentences", "transformer"]
Context = Literal["lstm", "gru", "transformer", "gated-cnn", "memory"]


class Net(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A network and its training; every field can be changed by `--set`."""

    turn: Turn = "bag"
    """What encodes a turn: the sum of its word vectors; attention over them; convolutions; the
    frozen vector of an encoder; the same of its sentences, with a GRU and attention; or a
    transformer over the whole dialogue, fine-tuned (frozen vectors where no folder is named)."""
    tokens: int = 100
    """At most so many of a turn."""
    dimensions: int = 100
    """Of word vectors that are learned from the training text."""
    vectors: Literal["file", "both", "learned"] = "both"
    """With `--embeddings`: the vectors of the file; beside them learned ones, for no file knows all
    words of a helpdesk; or only these. Without it they are learned in any case."""
    pooling: tuple[Literal["first", "mean", "max"], ...] = ("mean",)
    """An encoder's vector of a text: means over tokens of its first or last layer, or maxima."""
    filters: tuple[int, ...] = ()
    kernels: tuple[int, ...] = ()
    speaker: Literal["doubled", "bit", "prefix"] = "doubled"
    """Each speaker has a part of the vector; or some bits; or there are learned vectors for the
    speaker, the turn's place and the number of turns, as special tokens before the text."""
    alone: bool = False
    """A transformer reads each turn alone, not in its dialogue."""
    distributions: bool = False
    """A turn's vector holds the distributions predicted for the criteria of turns."""

    context: tuple[Context, ...] = ()
    """What runs over the turns, one after another."""
    layers: int = 1
    units: int = 150
    attention_heads: int = 8
    feed_forward: int = 200
    dropout: float = 0.3
    pool: Literal["sum", "mean", "attention", "flatten"] = "sum"
    """From the states of turns to the dialogue's; with attention, turns see that beside theirs."""
    turns: int = 7
    """So many are flattened."""
    dense: int = 0
    """Units of a hidden layer before the heads."""

    labels: Literal["own", "all"] = "own"
    """A head has the labels of its speaker, or of all: then only the speaker's are kept."""
    loss: Literal["soft", "differences", "sigmoid"] = "soft"
    target: Literal["votes", "mode"] = "votes"
    smoothing: float = 0.0
    each: bool = False
    """One network for each criterion."""

    rate: float = 1e-3
    batch: int = 128
    epochs: int = 50
    patience: int = 10
    schedule: Literal["constant", "one-cycle"] = "constant"
    tuned_rate: float = 2e-5
    """This and the next two are for a transformer that is fine-tuned."""
    tuned_batch: int = 4
    tuned_epochs: int = 4


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run of a campaign."""

    run: str
    """Its name in the published tables."""
    about: str
    campaigns: tuple[str, ...]
    languages: tuple[str, ...] = ("en", "zh")
    """In which it took part; it can be trained in any."""
    of_turns: Net | None = None
    of_dialogues: Net | None = None
    both: Net | None = None
    """One network for all criteria, in place of the two."""
    members: tuple[str, ...] = ()
    """The mean of these."""
    inner_folds: int = 3
    """Distributions that a network gets as inputs are predicted out of so many folds."""

    @property
    def nets(self) -> tuple[Net, ...]:
        """Its networks, those of turns first."""
        return tuple(net for net in (self.of_turns, self.of_dialogues, self.both) if net)


STC3, DIALEVAL2 = "ntcir14-stc3", "ntcir16-dialeval2"

_LSTM = Net(
    turn="bag",
    tokens=100,
    dimensions=300,  # as wide as the vectors that the campaigns used
    context=("lstm",),
    layers=3,
    units=150,
    dropout=0.3,
    pool="sum",
)
_WIDM_TURNS = Net(
    turn="cnn",
    tokens=150,
    vectors="learned",
    kernels=(2, 3),
    filters=(32, 32, 64),  # the team's: 256, 512, 1024, too slow without a GPU
    speaker="bit",
    context=("lstm",),
    layers=2,
    rate=5e-4,
    batch=32,
    patience=3,
)
_WIDM_DIALOGUES = replace(
    _WIDM_TURNS,
    turn="gated-cnn",
    kernels=(2,),
    filters=(32, 64),  # the team's: 512, 1024
    distributions=True,
    context=("gated-cnn", "memory"),
    layers=1,
    pool="flatten",
    dense=128,  # the team's: 1024
    each=True,
)
_RSLDE = Net(
    turn="transformer",
    tokens=512,
    speaker="prefix",
    context=("transformer",),
    attention_heads=8,
    feed_forward=200,
    pool="mean",
    batch=64,
    tuned_rate=2e-5,
    tuned_batch=4,
)
_TUA1 = Net(
    turn="transformer", tokens=512, speaker="prefix", context=("gru",), pool="mean", batch=64
)
_IMNTPU_TURNS = Net(
    turn="transformer",
    alone=True,
    speaker="prefix",
    dense=200,
    labels="all",
    smoothing=0.1,
    schedule="one-cycle",
    batch=64,
    epochs=25,
)
_IMNTPU_DIALOGUES = replace(
    _IMNTPU_TURNS,
    tokens=512,
    alone=False,
    pool="mean",
    labels="own",
    loss="sigmoid",
    smoothing=0.0,
)
_NKUST = Net(turn="vectors", speaker="doubled", context=("lstm",), pool="sum", batch=64)


def _two(recipe: Recipe, turns: Net, dialogues: Net | None = None) -> Recipe:
    """With a network for turns and one for dialogues, of the same kind unless told."""
    return replace(recipe, of_turns=turns, of_dialogues=dialogues or turns)


RECIPES: dict[str, Recipe] = {
    recipe.run.lower(): recipe
    for recipe in (
        _two(
            Recipe(
                run="BL-lstm",
                about="sums of word vectors, three bidirectional LSTM layers over turns",
                campaigns=(STC3, DIALEVAL2),
            ),
            _LSTM,
        ),
        _two(
            Recipe(
                run="SLSTC-run0",
                about="BL-lstm with multi-head self-attention over the states",
                campaigns=(STC3,),
            ),
            replace(_LSTM, context=("lstm", "transformer")),
        ),
        Recipe(
            run="SLSTC-run1",
            about="BL-lstm for all criteria at once, with the differences of neighbouring labels",
            campaigns=(STC3,),
            both=replace(_LSTM, loss="differences"),
        ),
        _two(
            Recipe(
                run="SLSTC-run2",
                about="BL-lstm over the contextual vectors of an encoder",
                campaigns=(STC3,),
            ),
            replace(_LSTM, turn="vectors"),
        ),
        _two(
            Recipe(
                run="WIDM-run0",
                about="convolutions, an LSTM and a memory over turns, predicted turn labels",
                campaigns=(STC3,),
                languages=("en",),
            ),
            _WIDM_TURNS,
            replace(_WIDM_DIALOGUES, context=("lstm", "memory")),
        ),
        _two(
            Recipe(
                run="WIDM-run1",
                about="convolutions also over turns, a memory, predicted turn labels",
                campaigns=(STC3,),
                languages=("en",),
            ),
            _WIDM_TURNS,
            _WIDM_DIALOGUES,
        ),
        _two(
            Recipe(run="WUST-run0", about="BL-lstm with attention over turns", campaigns=(STC3,)),
            replace(_LSTM, pool="attention"),
        ),
        _two(
            Recipe(run="WUST-run1", about="BL-lstm with attention over words", campaigns=(STC3,)),
            replace(_LSTM, turn="words"),
        ),
        _two(
            Recipe(
                run="WUST-run2",
                about="BL-lstm with attention over words and turns",
                campaigns=(STC3,),
            ),
            replace(_LSTM, turn="words", pool="attention"),
        ),
        Recipe(
            run="CUIS-run0",
            about="sentence vectors, GRUs and attention over sentences and turns; dialogues only",
            campaigns=(STC3,),
            of_dialogues=Net(turn="sentences", context=("gru",), pool="attention", batch=64),
        ),
        _two(
            Recipe(
                run="RSLDE-run0",
                about="a transformer over the dialogue with prefixes, one more over its turns",
                campaigns=(DIALEVAL2,),
            ),
            _RSLDE,
        ),
        _two(
            Recipe(
                run="RSLDE-run1",
                about="RSLDE-run0 with another transformer",
                campaigns=(DIALEVAL2,),
            ),
            replace(_RSLDE, pooling=("mean", "max")),
        ),
        Recipe(
            run="RSLDE-run2",
            about="the mean of RSLDE-run0 and RSLDE-run1",
            campaigns=(DIALEVAL2,),
            members=("rslde-run0", "rslde-run1"),
        ),
        _two(
            Recipe(
                run="IMNTPU-run0",
                about="a transformer taught every vote, turn by turn and of whole dialogues",
                campaigns=(DIALEVAL2,),
            ),
            _IMNTPU_TURNS,
            _IMNTPU_DIALOGUES,
        ),
        _two(
            Recipe(
                run="TUA1-run0",
                about="a transformer fine-tuned toward the distribution of votes",
                campaigns=(DIALEVAL2,),
            ),
            _TUA1,
        ),
        _two(
            Recipe(
                run="TUA1-run1", about="TUA1-run0 with another transformer", campaigns=(DIALEVAL2,)
            ),
            replace(_TUA1, pooling=("mean", "max")),
        ),
        Recipe(
            run="TUA1-run2",
            about="the mean of TUA1-run0 and TUA1-run1",
            campaigns=(DIALEVAL2,),
            members=("tua1-run0", "tua1-run1"),
        ),
        _two(
            Recipe(
                run="NKUST-run0",
                about="vectors of turns by an encoder, an LSTM over them",
                campaigns=(DIALEVAL2,),
            ),
            _NKUST,
        ),
        _two(
            Recipe(
                run="NKUST-run1",
                about="NKUST-run0 taught the most frequent label only",
                campaigns=(DIALEVAL2,),
            ),
            replace(_NKUST, target="mode"),
        ),
    )
}


def recipe_of(name: str) -> Recipe:
    """The recipe of a system.

    >>> recipe_of("bl-lstm").of_turns.units
    150
    """
    if name not in RECIPES:
        raise unknown_name("system", name, RECIPES)
    return RECIPES[name]


def changed(recipe: Recipe, settings: dict[str, Any]) -> Recipe:
    """A recipe with other settings: `units` of every network, `of_turns.units` of one.

    >>> changed(recipe_of("bl-lstm"), {"of_turns.units": "8"}).of_dialogues.units
    150
    """
    values = msgspec.to_builtins(recipe)
    nets = [name for name in ("of_turns", "of_dialogues", "both") if values[name]]
    for key, value in settings.items():
        at, _, field = key.rpartition(".")
        if field not in Net.__struct_fields__ or (at and at not in nets):
            known = ", ".join(sorted(Net.__struct_fields__))
            raise UsageError(f"setting {key!r}: expected one of {known}")
        for name in [at] if at else nets:
            values[name][field] = _listed(value) if field in _LISTS else value
    try:
        return msgspec.convert(values, Recipe, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"settings: {error}") from None


_LISTS = ("pooling", "filters", "kernels", "context")


def _listed(value: Any) -> Any:
    """`32,64` as a list."""
    return [part for part in value.split(",") if part] if isinstance(value, str) else value
