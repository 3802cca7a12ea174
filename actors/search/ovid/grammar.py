"""Tokens of one Ovid line to an expression. Nesting costs no recursion.

adj binds tightest, then AND, then NOT, then OR; equals from left to right. Source: NSW Health CIAP,
"Combining terms with Boolean operators on Ovid databases" ("AND is processed before NOT or OR. OR
is processed last"), and Ovid Online Help, "Advanced Search Techniques" (words side by side are
adj). A field code governs the term, the adj phrase or the parenthesised group before it; one inside
a group wins over one outside. Tolerated with a message: unbalanced parentheses, operators without
an operand, a missing operator.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from actors.search.ovid.lexer import (
    ADJ,
    AND,
    CLOSE,
    FIELD,
    HEADING,
    NOT,
    NUMBER,
    OPEN,
    OPERATOR,
    OR,
    SETS,
    Token,
)

TEXT, READY, COMPLEMENT = "text", "ready", "COMPLEMENT"
_BINDING = {ADJ: 4, AND: 3, NOT: 2, OR: 1}


@dataclass(slots=True)
class Expression:
    """`kind`: TEXT, NUMBER, HEADING, SETS, READY (nodes of a tree), or an operator on operands.

    `codes` are the field codes that govern it, None if nothing does. `tokens` are what it was read
    from; `distance` the N of an `adjN`; `implied` True where no operator was written; `is_text`
    True if it holds only what can stand near each other: words, OR and adj.
    """

    kind: str
    position: int
    tokens: list[Token] = field(default_factory=list)
    operands: "list[Expression]" = field(default_factory=list)
    codes: tuple[str, ...] | None = None
    distance: int | None = None
    implied: bool = False
    is_text: bool = False
    open: bool = False  # more words may join it


def parse_tokens(tokens: Sequence[Token]) -> tuple[Expression | None, list[str]]:
    """The expression of `tokens`, None if they hold no operand, and what was tolerated."""
    return _Grammar().run(tokens)


class _Grammar:
    def __init__(self) -> None:
        self.operands: list[Expression] = []
        self.waiting: list[Token] = []  # operators and open parentheses
        self.filled = [False]  # of each open group: whether an operand stands before the cursor
        self.messages: dict[str, None] = {}

    def run(self, tokens: Sequence[Token]) -> tuple[Expression | None, list[str]]:
        for index, token in enumerate(tokens):
            if token.kind == OPEN:
                self.join(token)
                self.waiting.append(token)
                self.filled.append(False)
            elif token.kind == CLOSE:
                self.close()
            elif token.kind == OPERATOR:
                self.operator(token)
            elif token.kind == FIELD:
                self.qualify(token, tokens[index - 1].kind == FIELD if index else False)
            else:
                self.operand(token)
        if len(self.filled) > 1:
            self.warn("unbalanced parentheses: missing ) added")
            while len(self.filled) > 1:
                self.close()
        self.reduce(0)
        return (self.operands[0] if self.operands else None), list(self.messages)

    def warn(self, message: str) -> None:
        self.messages[message] = None

    def operand(self, token: Token) -> None:
        if token.kind in (HEADING, SETS, READY):
            self.join(token)
            self.push(Expression(token.kind, token.position, [token]))
            return
        last = self.operands[-1] if self.filled[-1] else None
        if last is not None and last.open:
            last.kind = TEXT
            last.tokens.append(token)
            return
        self.join(token)
        kind = NUMBER if token.kind == NUMBER else TEXT
        self.push(Expression(kind, token.position, [token], is_text=True, open=True))

    def push(self, expression: Expression) -> None:
        self.operands.append(expression)
        self.filled[-1] = True

    def join(self, token: Token) -> None:
        """Before an operand: what stands side by side is adjacent."""
        if self.filled[-1]:
            self.binary(Token(OPERATOR, ADJ, token.position, distance=-1))
            self.filled[-1] = False

    def operator(self, token: Token) -> None:
        top = self.waiting[-1] if self.waiting else None
        if not self.filled[-1]:
            if top is not None and top.kind == OPERATOR and top.text != COMPLEMENT:
                self.warn("of several operators in a row the last one counts")
                if not (top.text == NOT and token.text != NOT):
                    self.waiting.pop()
                    self.filled[-1] = True
                    self.operator(token)
            elif (token.text == NOT and top is None) or (top is not None and top.kind == OPEN):
                if token.text == NOT:
                    self.warn("NOT without a term before it read as: all records NOT")
                    self.waiting.append(token._replace(text=COMPLEMENT))
                else:
                    self.warn("operator without a term before it ignored")
            else:
                self.warn("operator without a term before it ignored")
            return
        self.binary(token)
        self.filled[-1] = False

    def binary(self, token: Token) -> None:
        self.operands[-1].open = False
        self.reduce(_BINDING[token.text])
        self.waiting.append(token)

    def reduce(self, binding: int) -> None:
        """Apply the waiting operators of this group that bind at least so tightly."""
        if binding == 0 and not self.filled[-1]:
            while self.waiting and self.waiting[-1].kind == OPERATOR:
                dropped = self.waiting.pop()
                self.warn("operator without a term after it ignored")
                self.filled[-1] = dropped.text != COMPLEMENT
        while self.waiting and self.waiting[-1].kind == OPERATOR:
            token = self.waiting[-1]
            if token.text == COMPLEMENT:
                if binding > _BINDING[NOT]:
                    return
                self.waiting.pop()
                inner = self.operands.pop()
                self.operands.append(Expression(COMPLEMENT, token.position, operands=[inner]))
                continue
            if _BINDING[token.text] < binding:
                return
            self.waiting.pop()
            right = self.operands.pop()
            left = self.operands.pop()
            implied = token.distance == -1
            near = token.text == OR or (token.text == ADJ and not (implied and left.codes))
            self.operands.append(
                Expression(
                    token.text,
                    token.position,
                    operands=[left, right],
                    distance=None if implied else token.distance,
                    implied=implied,
                    is_text=near and left.is_text and right.is_text,
                )
            )

    def close(self) -> None:
        if len(self.filled) == 1:
            self.warn("unbalanced parentheses: missing ( added at the start")
            self.reduce(0)
            if self.operands:
                self.operands[-1].open = False
            return
        self.reduce(0)
        filled = self.filled.pop()
        self.waiting.pop()  # the parenthesis
        if filled:
            self.operands[-1].open = False
            self.filled[-1] = True
        else:
            self.blank()

    def blank(self) -> None:
        """A group that holds nothing is absent, and so is the operator before it."""
        if self.waiting and self.waiting[-1].kind == OPERATOR:
            complement = self.waiting.pop().text == COMPLEMENT
            self.filled[-1] = not complement

    def qualify(self, token: Token, more: bool) -> None:
        if not self.filled[-1]:
            self.warn(f".{token.text}. without a term before it ignored")
            return
        self.operands[-1].open = False
        self.reduce(_BINDING[ADJ])
        last = self.operands[-1]
        if last.codes is None:
            last.codes = token.values
        elif more:
            last.codes = (*last.codes, *token.values)
