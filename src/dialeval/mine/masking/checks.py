"""Check digits and other properties that tell an identifier from any other number."""

from __future__ import annotations

import re
from datetime import date

_RESIDENT_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_RESIDENT_CHECKS = "10X98765432"
_TAIWAN = "ABCDEFGHJKLMNPQRSTUVXYWZIO"
_BRANDS = (
    ("4", (13, 16, 19)),  # Visa
    ("34", (15,)),  # American Express
    ("37", (15,)),
    ("30", (14,)),  # Diners Club
    ("36", (14,)),
    ("38", (14,)),
    *((str(two), (16,)) for two in range(51, 56)),  # Mastercard
    *((str(four), (16,)) for four in range(2221, 2721)),
    *((str(four), (16, 17, 18, 19)) for four in range(3528, 3590)),  # JCB
    ("6", (16, 17, 18, 19)),  # UnionPay, Discover
    ("9", (16, 17, 18, 19)),  # cards of Chinese banks before UnionPay
)


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812).

    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """Whether a number is one that a card may have: its beginning, length and check digit.

    >>> is_card("6212345678901232"), is_card("6212345678901233"), is_card("1234567812345670")
    (True, False, False)
    """
    fits = any(digits.startswith(head) and len(digits) in sizes for head, sizes in _BRANDS)
    return fits and len(set(digits)) > 1 and luhn(digits)


def is_resident_id(number: str) -> bool:
    """Whether a Chinese resident identity number is right: birthday and check digit (GB 11643).

    >>> is_resident_id("11010519491231002X"), is_resident_id("110105194912310021")
    (True, False)
    """
    if not re.fullmatch(r"[1-9][0-9]{16}[0-9Xx]", number) or not is_date(number[6:14]):
        return False
    pairs = zip(number, _RESIDENT_WEIGHTS, strict=False)
    total = sum(int(digit) * weight for digit, weight in pairs)
    return _RESIDENT_CHECKS[total % 11] == number[-1].upper()


def is_hong_kong_id(number: str) -> bool:
    """Whether a Hong Kong identity number, letters and digits only, has the right check digit.

    >>> is_hong_kong_id("A1234563"), is_hong_kong_id("A1234564")
    (True, False)
    """
    padded = number.rjust(9)
    values = [36 if c == " " else int(c, 36) for c in padded[:8]]
    total = sum(value * weight for value, weight in zip(values, range(9, 1, -1), strict=True))
    return (total + int(padded[8], 16)) % 11 == 0


def is_taiwan_id(number: str) -> bool:
    """Whether a Taiwanese identity number has the right check digit.

    >>> is_taiwan_id("A123456789"), is_taiwan_id("A123456788")
    (True, False)
    """
    first = _TAIWAN.index(number[0]) + 10
    digits = [first // 10, first % 10, *map(int, number[1:])]
    weights = (1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1)
    return sum(d * w for d, w in zip(digits, weights, strict=True)) % 10 == 0


def is_iban(number: str) -> bool:
    """Whether an international bank account number has the right check digits (ISO 13616).

    >>> is_iban("GB82WEST12345698765432"), is_iban("GB82WEST12345698765431")
    (True, False)
    """
    turned = number[4:] + number[:4]
    return 15 <= len(number) <= 34 and int("".join(str(int(c, 36)) for c in turned)) % 97 == 1


def is_postal(number: str) -> bool:
    """Whether a postal item's number has the right check digit (UPU S10).

    >>> is_postal("RA473124829GB"), is_postal("RA473124828GB")
    (True, False)
    """
    total = sum(int(d) * w for d, w in zip(number[2:10], (8, 6, 4, 2, 3, 5, 9, 7), strict=True))
    check = 11 - total % 11
    return int(number[10]) == {10: 0, 11: 5}.get(check, check)


def is_date(digits: str) -> bool:
    """Whether eight digits are a day of the last or this century.

    >>> is_date("20231130"), is_date("20231131"), is_date("99991231")
    (True, False, False)
    """
    try:
        return 1900 <= date(int(digits[:4]), int(digits[4:6]), int(digits[6:8])).year < 2100
    except ValueError:
        return False


def is_moment(digits: str) -> bool:
    """Whether digits are a date with or without its time, or a date's parts are told by dashes.

    >>> is_moment("20231130"), is_moment("202311302359"), is_moment("2023-11-30")
    (True, True, True)
    >>> is_moment("30-11-2023"), is_moment("2023113023591234")
    (True, False)
    """
    parts = re.split(r"[ -]+", digits)
    if len(parts) >= 3 and len(parts[0]) == 4 and max(map(len, parts[1:3])) <= 2:
        return is_date(parts[0] + parts[1].zfill(2) + parts[2].zfill(2))
    if len(parts) == 3 and len(parts[2]) == 4 and max(map(len, parts[:2])) <= 2:
        first, second = parts[0].zfill(2), parts[1].zfill(2)
        return is_date(parts[2] + second + first) or is_date(parts[2] + first + second)
    plain = "".join(parts)
    clock = plain[8:].ljust(6, "0")
    return (
        len(plain) in (8, 10, 12, 14)
        and is_date(plain[:8])
        and clock[:2] < "24"
        and clock[2:4] < "60"
        and clock[4:] < "60"
    )


def is_range(text: str) -> bool:
    """Whether a text is a range of round numbers, or of years.

    >>> is_range("1500-2000"), is_range("2019-2023"), is_range("2345-6789")
    (True, True, False)
    """
    parts = text.split("-")
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        return False
    low, high = (int(part) for part in parts)
    rounded = low % 50 == 0 and high % 50 == 0
    years = 1900 <= low <= 2100 and 1900 <= high <= 2100
    return low < high and (rounded or years)
