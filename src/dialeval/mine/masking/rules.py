"""What is masked, and how it is recognised: by the words before it, or by its own shape.

Rules see a text in which full-width forms are plain ones (`normalised`), character for character,
so that places are those of the text itself. A rule masks its group `v`. Rules come in order:
what one has taken, later ones leave alone. Words before a number say more than its shape does,
so they come first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from dialeval.mine.masking import checks

Kind = Literal["EMAIL", "ID", "CARD", "ORDER", "ACCOUNT", "PHONE", "NAME"]
KINDS: tuple[Kind, ...] = ("PHONE", "EMAIL", "ID", "CARD", "ORDER", "ACCOUNT", "NAME")

_PLAIN = {0xFF01 + i: 0x21 + i for i in range(94) if chr(0x21 + i) != ","}
_PLAIN |= dict.fromkeys((0x3000, 0xA0, 0x2002, 0x2003, 0x2009, 0x202F), ord(" "))
_PLAIN |= dict.fromkeys((*range(0x2010, 0x2016), 0x2212, 0x2E3A), ord("-"))
_PLAIN |= {zero + i: 0x30 + i for zero in (0x660, 0x6F0, 0x966) for i in range(10)}
_PLAIN |= {0x1D7CE + i: 0x30 + i % 10 for i in range(50)}
_PLAIN[0xFFE5] = ord("¥")

_SPOKEN = str.maketrans("零〇一幺壹二两贰三叁四肆五伍六陆七柒八捌九玖", "0011122233445566778899")


def normalised(text: str) -> str:
    """The text with full-width and other forms of digits, letters and signs as plain ones.

    >>> normalised("电话：１３８—００１３　８０００")
    '电话:138-0013 8000'
    """
    return text.translate(_PLAIN)


WECHAT_NAME = "WeChat name"


class Rule(msgspec.Struct, frozen=True):
    """A pattern, and what must hold of what it finds."""

    kind: Kind
    name: str
    pattern: re.Pattern[str]
    check: Callable[[str], bool] | None = None
    """Of the value, as written."""

    @property
    def needs(self) -> re.Pattern[str]:
        """What a text must have at least for the rule to find anything."""
        if self.kind in ("EMAIL", "NAME"):
            return AT
        if self.name == WECHAT_NAME:
            return WECHAT
        return SPOKEN if self.check is _is_spoken_mobile else DIGITS

    def matches(self, plain: str) -> Iterator[tuple[int, int]]:
        """Where the values stand.

        What fails the check may begin or end with another number: it is tried without its last
        groups, and then from its next one.
        """
        at = 0
        while (match := self.pattern.search(plain, at)) is not None:
            start, end = match.span("v")
            while self.check and end > start and not self.check(plain[start:end]):
                last = max(plain.rfind(" ", start, end), plain.rfind("-", start, end))
                end = max(last, start)
            if end > start:
                yield start, end
            at = end if end > start else start + 1


def digits_of(value: str) -> str:
    """The digits of a value.

    >>> digits_of("+1 (415) 555-0134")
    '14155550134'
    """
    return "".join(char for char in value if "0" <= char <= "9")


def letters_and_digits(value: str) -> str:
    """Without spaces, dashes and brackets."""
    return "".join(char for char in value if char.isalnum())


# What may stand before and after a number that stands alone: no part of a longer one, of a
# decimal, of a word, of a price or of an amount.
_FROM = r"(?<![0-9A-Za-z_])(?<![0-9][.])(?<![$¥€£])(?<![$¥€£] )"
_UNIT = (
    r"(?!\s?(?:元|块|圆|万|亿|角|美元|美金|人民币|日元|欧元|英镑|卢布|"
    r"%|(?:USD|RMB|CNY|EUR|GBP|JPY|yuan|dollars?|euros?|pounds?|yen|"
    r"points?|credits?|miles|steps|views|km|kg|[kKmMgGtT][bB]|mAh)\b|积分|步|次|件|人|年))"
)
_END = r"(?![0-9A-Za-z_])(?!\.[0-9])"
_TO = _END + r"(?!,[0-9]{3}(?![0-9]))(?!:[0-9]{2}(?![0-9]))" + _UNIT
_LINK = r"(?:\s|[:#=]|\((?![0-9]{2,4}\))|是|为|(?:is|was|of)\b)*"
_NUMBER_WORD = r"(?:numbers?|num\b|no\b\.?|nr\b\.?|id\b|code\b|#)"
_CODE = r"[A-Za-z0-9](?:[A-Za-z0-9]|[-_](?=[A-Za-z0-9])){2,39}"


def _shape(pattern: str) -> re.Pattern[str]:
    return re.compile(f"{_FROM}(?P<v>{pattern}){_TO}")


def _after(words: str, value: str) -> re.Pattern[str]:
    """A value after words that say what it is."""
    return re.compile(f"(?:{words}){_LINK}(?P<v>{value}){_TO}", re.IGNORECASE)


def _is_code(least: int) -> Callable[[str], bool]:
    """A code has so many digits, and is no date."""

    def check(value: str) -> bool:
        return len(digits_of(value)) >= least and not checks.is_moment(value)

    return check


def _is_long_code(value: str) -> bool:
    return _is_code(6)(value) and not re.fullmatch("1[3-9][0-9]{9}", value)


_PUBLIC = re.compile("10[01][0-9]{2,5}|0[0-9]{2,3}100[0-9]{2}")
"""Numbers of services that are the same for everybody."""


def _is_phone(value: str) -> bool:
    sizes = [len(group) for group in re.findall("[0-9]+", value)]
    right = 7 <= sum(sizes) <= 15 and (max(sizes) >= 3 or set(sizes) in ({1}, {2}))
    if not right or _PUBLIC.fullmatch(digits_of(value)):
        return False
    return not checks.is_moment(value) and not checks.is_range(value)


def _is_service(value: str) -> bool:
    return len(digits_of(value)) == 10 and _is_phone(value)


def _is_international(value: str) -> bool:
    return 8 <= len(digits_of(value)) <= 15


def _is_spoken_mobile(value: str) -> bool:
    return bool(re.fullmatch("1[3-9][0-9]{9}", value.translate(_SPOKEN)))


def _is_written_card(value: str) -> bool:
    """A card's number, in the groups that cards have."""
    groups = re.split("[ -]", value)
    if len(groups) > 1 and any(len(group) != 4 for group in groups[:-1]) and len(groups[0]) != 6:
        american = [len(group) for group in groups] in ([4, 6, 5], [4, 6, 4])
        if not american:
            return False
    return checks.is_card(digits_of(value))


def _is_resident(value: str) -> bool:
    return checks.is_resident_id(letters_and_digits(value))


def _is_hong_kong(value: str) -> bool:
    return checks.is_hong_kong_id(letters_and_digits(value))


def _is_iban(value: str) -> bool:
    return checks.is_iban(letters_and_digits(value))


def _is_long(value: str) -> bool:
    return len(set(value)) > 1 and not checks.is_moment(value)


def _has_digit_or_sign(value: str) -> bool:
    return any(char.isdigit() or char in "_-" for char in value)


_PHONE_WORDS = (
    r"电话(?:号码?)?|手机(?:号码?)?|手機(?:號碼?)?|電話(?:號碼?)?|联系方式|热线|致电|拨打|来电|传真|座机|"
    r"固话|固定电话|号码|打给|打|"
    r"\btel\b\.?|telephone(?: number| no\.?)?|\b(?:cell ?|mobile ?)?phone(?: number| no\.?)?|"
    r"\bmobile(?: number| no\.?)?|\bcell(?: number)?|\bfax\b|whats ?app|"
    r"\bcall(?: me| us| him| her)?(?: back)?(?: at| on)?|\btext me(?: at| on)?|"
    r"\breach (?:me|us) (?:at|on)|contact (?:number|no\.?)|hotline|"
    r"\b(?:my|the|your|this) number"
)
_ID_WORDS = (
    r"身份证(?:号码?|编号)?|身份證(?:號碼?)?|护照(?:号码?)?|社保(?:卡)?号码?|驾驶证号码?|通行证号码?|"
    rf"\b(?:identity|national id|id)(?: card)? {_NUMBER_WORD}|\bid card\b|"
    rf"passport(?: {_NUMBER_WORD})?|social security(?: {_NUMBER_WORD})?|\bssn\b|"
    rf"driver'?s licen[cs]e(?: {_NUMBER_WORD})?"
)
_CARD_WORDS = (
    r"卡号|銀行卡號?|银行卡号?|信用卡号?|储蓄卡号?|"
    rf"\bcard {_NUMBER_WORD}|\b(?:credit|debit|bank) card(?: {_NUMBER_WORD})?"
)
_ORDER_WORDS_ZH = (
    r"订单(?:编号|号码?)|訂單(?:編號|號碼?)|"
    r"(?:运|快递|物流|工|服务|退款|退货|取件|保|提|单|货)?单(?:编)?号码?|"
    r"流水号|交易(?:编|单)?号|受理(?:编)?号|会员(?:卡|编)?号|账号|帐号|客户号|序列号|"
    r"发票号码?|合同(?:编)?号|凭证号|编号|取件码|验证码|IMEI|\bS/?N\b"
)
_ORDER_NAMES = (
    r"\b(?:orders?|tracking|parcel|package|waybill|invoice|ticket|case|reference|ref|confirmation|"
    r"booking|reservation|serial|shipment|transaction|payment|account|acct|customer|member|"
    r"membership|policy|contract|claim|complaint|incident|receipt|verification|rma|imei)\b\.?"
)
_ENDING = r"\s*\bending (?:in|with)"
_GROUPED = r"[0-9](?:[ -]?[0-9])"

RULES: tuple[Rule, ...] = (
    Rule(
        "EMAIL",
        "e-mail address",
        re.compile(
            r"(?<![A-Za-z0-9._%+-])(?P<v>[A-Za-z0-9._%+-]{1,64}"
            r"(?:@|\s?[(\[]at[)\]]\s?)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24})"
            r"(?![A-Za-z0-9-])",
            re.IGNORECASE,
        ),
    ),
    # By the words before.
    Rule(
        "ID",
        "number after words for identity papers",
        _after(_ID_WORDS, r"[A-Za-z]{0,3}[0-9](?:[ -]?[0-9]){4,18}[Xx]?(?:\([0-9A]\))?"),
        _is_code(6),
    ),
    Rule(
        "CARD",
        "number after words for cards",
        _after(_CARD_WORDS, _GROUPED + "{11,18}"),
        _is_code(12),
    ),
    Rule(
        "PHONE",
        "last digits of a telephone number",
        re.compile(
            r"(?:手机|电话|phone|mobile)(?: number)?[的号码]*"
            r"(?:尾号|后四位|末四位|,? ending (?:in|with))"
            rf"{_LINK}(?P<v>[0-9]{{3,4}}){_TO}",
            re.IGNORECASE,
        ),
    ),
    Rule(
        "ORDER",
        "last digits of an order",
        _after(
            rf"(?:订单|单号|{_ORDER_NAMES}(?: {_NUMBER_WORD})?)[的号码]*(?:尾号|{_ENDING})",
            "[0-9]{4}",
        ),
    ),
    Rule(
        "CARD",
        "last digits of a card",
        _after(rf"尾号|后四位|末四位|{_ENDING}|last (?:four|4)(?: digits)?", "[0-9]{4}"),
    ),
    Rule("ORDER", "code after words for orders", _after(_ORDER_WORDS_ZH, _CODE), _is_code(4)),
    Rule(
        "ORDER",
        "code after words for orders",
        _after(rf"{_ORDER_NAMES}\s*{_NUMBER_WORD}", _CODE),
        _is_code(3),
    ),
    Rule(
        "ORDER",
        "long code after words for orders",
        _after(rf"订单|{_ORDER_NAMES}", _CODE),
        _is_long_code,
    ),
    Rule(
        "ACCOUNT",
        "QQ number",
        re.compile(
            r"(?:(?<![A-Za-z])QQ|扣扣)(?:客服|在线|群|[账帐]?号码?|\s(?:number|no\.|id))*"
            rf"{_LINK}(?P<v>[1-9][0-9]{{4,10}}){_TO}",
            re.IGNORECASE,
        ),
    ),
    Rule(
        "ACCOUNT",
        WECHAT_NAME,
        re.compile(
            r"(?:微信号?|薇信|威信|\bwechat(?: id)?|\bweixin|(?<![A-Za-z])[vw]x)"
            r"\s*(?:[:是为]|\bis\b)\s*(?P<v>[A-Za-z][A-Za-z0-9_-]{5,19})(?![A-Za-z0-9_-])",
            re.IGNORECASE,
        ),
    ),
    Rule(
        "ACCOUNT",
        WECHAT_NAME,
        re.compile(
            r"(?:微信号?|薇信|威信|\bwechat(?: id)?|(?<![A-Za-z])[vw]x) ?"
            r"(?P<v>[A-Za-z][A-Za-z0-9_-]{5,19}|1[3-9][0-9]{9})(?![A-Za-z0-9_-])",
            re.IGNORECASE,
        ),
        _has_digit_or_sign,
    ),
    Rule(
        "PHONE",
        "number after words for telephones",
        _after(_PHONE_WORDS, r"\+?\(?[0-9](?:[ .-]{0,1}[()]?[ -]?[0-9]){6,14}"),
        _is_phone,
    ),
    # By shape.
    Rule(
        "ID",
        "Chinese resident identity number",
        re.compile(
            r"(?<![0-9A-Za-z])(?P<v>[1-9][0-9]{5}[ -]?(?:18|19|20)[0-9]{6}[ -]?[0-9]{3}[0-9Xx])"
            r"(?![0-9A-Za-z])"
        ),
        _is_resident,
    ),
    Rule("ID", "Hong Kong identity number", _shape(r"[A-Z]{1,2}[0-9]{6}\([0-9A]\)"), _is_hong_kong),
    Rule("ID", "Taiwanese identity number", _shape(r"[A-Z][12][0-9]{8}"), checks.is_taiwan_id),
    Rule(
        "ID",
        "US social security number",
        _shape(r"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}"),
    ),
    Rule(
        "ID",
        "UK national insurance number",
        _shape(r"[A-CEGHJ-PR-TW-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]"),
    ),
    Rule("CARD", "card number", _shape(_GROUPED + "{12,18}"), _is_written_card),
    Rule(
        "CARD",
        "bank account (IBAN)",
        _shape(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?"),
        _is_iban,
    ),
    Rule(
        "PHONE",
        "Chinese mobile number",
        re.compile(
            r"(?:(?<![0-9A-Za-z_])|(?<=tel)|(?<=Tel)|(?<=TEL)|(?<=phone)|(?<=Phone))"
            r"(?<![0-9][.])(?<![$¥€£])"
            r"(?P<v>(?:(?:\+|00)?\(?86\)?[ -]?)?(?:1[3-9][0-9](?:[ -]?[0-9]{4}[ -]?[0-9]{4}|"
            r"[ -][0-9]{3}[ -]?[0-9]{5}|[0-9][ -][0-9]{3}[ -][0-9]{4})|1[ -][3-9](?:[ -][0-9]){9}))"
            + _END
        ),
    ),
    Rule("PHONE", "Chinese service number", _shape(r"[48]00(?:[ -]?[0-9]){7}"), _is_service),
    Rule(
        "PHONE",
        "Chinese telephone number",
        _shape(
            r"(?:(?:\+|00)?86[ -]?)?\(?0(?:10|2[0-9]|[3-9][0-9]{2})\)?[ -]?"
            r"[2-9][0-9]{2,3}[ -]?[0-9]{4}(?:(?:-|转|ext\.? ?)[0-9]{1,6})?"
        ),
    ),
    Rule(
        "PHONE",
        "North American number",
        _shape(
            r"(?:\+?1[ .-]?)?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[.-])[2-9][0-9]{2}[ .-][0-9]{4}"
        ),
    ),
    Rule(
        "PHONE",
        "British number",
        _shape(r"07[0-9]{3} ?[0-9]{6}|0[0-9]{4} [0-9]{5,6}|0[0-9]{2,3} [0-9]{3,4} [0-9]{4}"),
    ),
    Rule(
        "PHONE",
        "international number",
        re.compile(
            r"(?<![0-9A-Za-z+])(?P<v>(?:\+ ?|00)[1-9][0-9]{0,2}(?:[ .-]?\(?[0-9]{1,4}\)?){2,6})"
            + _TO
        ),
        _is_international,
    ),
    Rule(
        "PHONE",
        "Chinese mobile number in words",
        re.compile("(?P<v>[零〇一幺壹二两贰三叁四肆五伍六陆七柒八捌九玖]{11,})"),
        _is_spoken_mobile,
    ),
    Rule("ORDER", "postal item", _shape("[A-Z]{2}[0-9]{9}[A-Z]{2}"), checks.is_postal),
    Rule("ORDER", "Amazon order", _shape("[0-9]{3}-[0-9]{7}-[0-9]{7}")),
    Rule("ORDER", "UPS parcel", _shape("1Z[0-9A-Z]{16}")),
    Rule("ORDER", "letters and a long number", _shape("[A-Z]{1,4}[0-9]{9,20}")),
    Rule("ORDER", "long number", _shape("[0-9]{12,40}"), _is_long),
    Rule("ORDER", "long numbers with dashes", _shape("[0-9]{6,}(?:-[0-9]{6,})+")),
    Rule(
        "ORDER",
        "nothing but a number",
        re.compile(r"\A\s*(?P<v>[0-9]{7,11})[\s。.!,]*\Z"),
        lambda value: len(set(value)) > 2 and _is_phone(value),
    ),
    Rule(
        "NAME",
        "@name",
        re.compile(r"@(?P<v>(?![0-9]+(?:am|pm|AM|PM)?(?!\w))[\w·-]{1,40})"),
    ),
)
"""In order of precedence."""

WECHAT = re.compile("[微薇威]信|[Ww]e[Cc]hat|[Ww]eixin|[VvWw][Xx]")
AT = re.compile(r"@|[(\[]at[)\]]", re.IGNORECASE)
SPOKEN = re.compile("[零〇一幺壹二两贰三叁四肆五伍六陆七柒八捌九玖]{11}")
DIGITS = re.compile(r"[0-9](?:[ .-]?[0-9]){3}")
NEXT = re.compile(
    r"\s*(?:、|,|，|;|；|/|\\|和|或|及|\band\b|\bor\b|\s)\s*"
    r"(?P<v>[A-Za-z]{0,4}[0-9]{6,20}(?:-[0-9]+)*)" + _TO
)
"""One more in a list of numbers."""
NEAR = re.compile(r"(?<![0-9A-Za-z])[0-9](?:[ -]?[0-9]){6,}(?![0-9])")
"""Numbers that a person should look at if no rule took them."""
URL = re.compile(r"https?://[^\s\u3000-\u9fff\uff00-\uffef]+", re.IGNORECASE)
