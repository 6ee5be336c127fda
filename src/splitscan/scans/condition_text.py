"""Conditions as SQL text: tokens, and the tree that they stand for. Nothing is evaluated but this grammar.

``or`` binds weaker than ``and``, and that weaker than ``not``::

    condition  = term {OR term}          term = factor {AND factor}         factor = NOT factor | test
    test       = "(" condition ")" | operand predicate
    predicate  = ("=" | "==" | "<>" | "!=" | "<" | "<=" | ">" | ">=" | "<=>") operand
               | IS [NOT] NULL
               | [NOT] (IN "(" literal {"," literal} ")" | BETWEEN operand AND operand
                        | LIKE text | ILIKE text | GLOB text)
    operand    = column | literal        literal = text | number | TRUE | FALSE | NULL | DATE text | TIMESTAMP text
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import partial

from splitscan.errors import UsageError
from splitscan.formats.decoding.ddl import Token, Tokens
from splitscan.scans.conditions import Condition, Operand, all_of, any_of, comparison, is_null, matching, negation

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*") | (?P<quoted>`(?:[^`]|``)+`)
      | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<mark><=>|<>|!=|<=|>=|==|[=<>(),]) | (?P<word>[^\W\d]\w*)
    )""",
    re.VERBOSE,
)
_COMPARISONS = {"=": "=", "==": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_PATTERNS = ("like", "ilike", "glob")
_KEYWORDS = frozenset({"and", "or", "not", "in", "is", "between", *_PATTERNS})
_LITERALS = {"true": True, "false": False, "null": None}
_MOST_DEPTH = 64
_SHOWN_CHARACTERS = 200


def parse_condition(text: str) -> Condition:
    """Parse a condition.

    Raises:
        UsageError: ``[bad-where]`` if it is none; the message says where.

    Example:
        >>> parse_condition("dir0 = '2024' and filename like '%.csv'").columns
        ('dir0', 'filename')
    """
    return _ConditionParser(text).parse()


class _ConditionParser:
    """Recursive descent over the tokens of one condition."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = Tokens(text, _TOKEN, len(text.rstrip()), partial(self._bad, rule="it has no meaning here"))
        self._depth = 0

    def parse(self) -> Condition:
        found = self._condition()
        if self._tokens.next.kind != "end":
            raise self._refuse("and, or, or the end")
        return found

    # ---------------------------------------------------------------- grammar

    def _condition(self) -> Condition:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise self._bad(self._tokens.next.offset, f"more than {_MOST_DEPTH} conditions lie in each other")
        terms = [self._term()]
        while self._word("or"):
            terms.append(self._term())
        self._depth -= 1
        return terms[0] if len(terms) == 1 else any_of(terms)

    def _term(self) -> Condition:
        factors = [self._factor()]
        while self._word("and"):
            factors.append(self._factor())
        return factors[0] if len(factors) == 1 else all_of(factors)

    def _factor(self) -> Condition:
        negated = False
        while self._word("not"):
            negated = not negated
        if self._mark("("):
            test = self._condition()
            self._expect(")")
        else:
            test = self._test()
        return negation(test) if negated else test

    def _test(self) -> Condition:
        left = self._operand()
        sign = _COMPARISONS.get(self._tokens.next.text) if self._tokens.next.kind == "mark" else None
        if sign is not None:
            self._tokens.take()
            return comparison(sign, left, self._operand())
        if self._word("is"):
            negated = self._word("not")
            if not self._word("null"):
                raise self._refuse("NULL")
            return negation(is_null(left)) if negated else is_null(left)
        negated = self._word("not")
        test = self._predicate(left)
        return negation(test) if negated else test

    def _predicate(self, left: Operand) -> Condition:
        if self._word("in"):
            self._expect("(")
            values = [self._literal()]
            while self._mark(","):
                values.append(self._literal())
            self._expect(")")
            return any_of([comparison("=", left, value) for value in values])
        if self._word("between"):
            low = self._operand()
            if not self._word("and"):
                raise self._refuse("AND")
            return all_of([comparison(">=", left, low), comparison("<=", left, self._operand())])
        for pattern in _PATTERNS:
            if self._word(pattern):
                if self._tokens.next.kind != "text":
                    raise self._refuse("a text in quotes")
                return matching(pattern, left, _unquote(self._tokens.take().text))
        raise self._refuse("a comparison, IN, BETWEEN, LIKE, GLOB or IS")

    def _operand(self) -> Operand:
        token = self._tokens.next
        if token.kind == "quoted":
            return Operand(_unquote(self._tokens.take().text))
        word = token.text.lower()
        is_name = token.kind == "word" and word not in _LITERALS and word not in _KEYWORDS
        if is_name and not (word in {"date", "timestamp"} and self._tokens.second.kind == "text"):
            return Operand(self._tokens.take().text)
        return self._literal()

    def _literal(self) -> Operand:
        token = self._tokens.take()
        word = token.text.lower()
        if token.kind == "text":
            return Operand(None, _unquote(token.text))
        if token.kind == "number":
            return Operand(None, Decimal(token.text))
        if token.kind == "word" and word in _LITERALS:
            return Operand(None, _LITERALS[word])
        if token.kind == "word" and word in {"date", "timestamp"} and self._tokens.next.kind == "text":
            return Operand(None, _unquote(self._tokens.take().text), word)
        raise self._refuse("a column or a value", token)

    # ----------------------------------------------------------------- tokens

    def _word(self, word: str) -> bool:
        return self._tokens.take_if("word", word)

    def _mark(self, mark: str) -> bool:
        return self._tokens.take_if("mark", mark)

    def _expect(self, mark: str) -> None:
        if not self._mark(mark):
            raise self._refuse(repr(mark))

    def _refuse(self, wanted: str, found: Token | None = None) -> UsageError:
        token = found or self._tokens.next
        return self._bad(token.offset, f"{token.text or 'the end'!r} stands where {wanted} belongs")

    def _bad(self, offset: int, rule: str) -> UsageError:
        shown = self._text if len(self._text) <= _SHOWN_CHARACTERS else f"{self._text[:_SHOWN_CHARACTERS]}..."
        return UsageError(
            "a condition is written as in the WHERE of SQL",
            seen=f"{shown!r}: at character {offset}, {rule}",
            fix="for example: dir0 = '2024' and filename like '%.csv' and file_size > 0",
            code="bad-where",
        )


def _unquote(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])
