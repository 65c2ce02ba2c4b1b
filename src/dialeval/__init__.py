"""dialeval: evaluate dialogues by distributions of people's votes.

>>> import dialeval as de
>>> gold = de.sample("en")
>>> run = de.predict(gold, model="uniform")
>>> round(de.evaluate(run, gold).mean["nugget.jsd"], 4) > 0
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dialeval.agreement.analysis import agreement_of as agreement_of
    from dialeval.agreement.findings import Agreement as Agreement
    from dialeval.agreement.questions import Questionnaire as Questionnaire
    from dialeval.agreement.questions import select_questions as select_questions
    from dialeval.core.collection import Collection as Collection
    from dialeval.core.decode_collection import load as load
    from dialeval.core.decode_run import load_run as load_run
    from dialeval.core.encode import save as save
    from dialeval.core.encode import save_run as save_run
    from dialeval.core.errors import DataError as DataError
    from dialeval.core.errors import DialevalError as DialevalError
    from dialeval.core.rubric import load_rubric as load_rubric
    from dialeval.core.run import Run as Run
    from dialeval.measures.evaluate import Score as Score
    from dialeval.measures.evaluate import evaluate as evaluate
    from dialeval.predictors.predict import predict as predict
    from dialeval.report.results import Results as Results
    from dialeval.report.results import compare as compare
    from dialeval.samples import sample as sample

# Imported when first used: `import dialeval` alone stays instant.
_FACE = {
    "Agreement": "agreement.findings",
    "Collection": "core.collection",
    "DataError": "core.errors",
    "DialevalError": "core.errors",
    "Questionnaire": "agreement.questions",
    "Results": "report.results",
    "Run": "core.run",
    "Score": "measures.evaluate",
    "agreement_of": "agreement.analysis",
    "compare": "report.results",
    "evaluate": "measures.evaluate",
    "load": "core.decode_collection",
    "load_rubric": "core.rubric",
    "load_run": "core.decode_run",
    "predict": "predictors.predict",
    "sample": "samples",
    "save": "core.encode",
    "save_run": "core.encode",
    "select_questions": "agreement.questions",
}

__all__ = ["__version__", "agreement", "measures", *_FACE]


def __getattr__(name: str) -> Any:
    if name in ("agreement", "measures"):
        return import_module(f"dialeval.{name}")
    if name in _FACE:
        return getattr(import_module(f"dialeval.{_FACE[name]}"), name)
    raise AttributeError(f"module 'dialeval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
