"""How far people's votes agree: coefficients, who and what stands out, which questions to keep."""

from dialeval.agreement.analysis import agreement_of
from dialeval.agreement.cohen import cohen_kappa, cohen_table
from dialeval.agreement.findings import Agreement
from dialeval.agreement.fleiss import fleiss_kappa
from dialeval.agreement.gwet import gwet_ac1
from dialeval.agreement.krippendorff import krippendorff_alpha
from dialeval.agreement.outliers import against_rest, vote_entropy
from dialeval.agreement.questions import Questionnaire, select_questions
from dialeval.agreement.ratings import coded, vote_counts
from dialeval.agreement.reading import reading
from dialeval.agreement.shares import full_agreement, percent_agreement

__all__ = [
    "Agreement",
    "Questionnaire",
    "against_rest",
    "agreement_of",
    "coded",
    "cohen_kappa",
    "cohen_table",
    "fleiss_kappa",
    "full_agreement",
    "gwet_ac1",
    "krippendorff_alpha",
    "percent_agreement",
    "reading",
    "select_questions",
    "vote_counts",
    "vote_entropy",
]
