"""Writes tokens.json: strings and how Python's re splits them.

    python3 gen_golden.py > tokens.json

The strings are the same on every run. Only characters that Unicode 14 has
assigned are used, so that a newer table on either side changes nothing.
"""

import json
import random
import re
import unicodedata

# The same ranges as isCJK in chars.go.
CJK = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9d"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)

PATTERN = re.compile(
    r"""
    '(?:[sdmt]|ll|ve|re)
    | [ ]?[%(cjk)s]
    | [ ]?(?:(?![%(cjk)s])[^\W\d_])+
    | [ ]?\d{1,3}
    | [ ]?[^\s\w]+
    | \s+(?!\S)
    | \s+
    | [\s\S]
    """ % {"cjk": CJK},
    re.IGNORECASE | re.VERBOSE,
)

WRITTEN = [
    "", " ", "  ", "\n", "a", " a", "  a", "   a", "\n a", " \na", "\n\na", "a ", "a  ", "a \n",
    "Hello, world!", "It's we'll I've they're I'd I'm don't", "IT'S WE'LL I'VE THEY'RE I'D I'M DON'T",
    "'s", " 's", "''s", "'S", "'\u017f", "'l", "'lL", "'Ll", "'v", "'vE", "'r", "'re", "'rex", "'sx", "'x",
    "'", "' s", "x'", "\u2019s", "'\u212a", "'\u0131",
    "1", "12", "123", "1234", "1234567", " 1234", "  12", "1,234.56", "0x1F", "v1.2.3", "12ab34", "\u0661\u0662\u0663\u0664",
    "\uff11\uff12\uff13\uff14", "\U0001d7d8\U0001d7d9\U0001d7da\U0001d7db", "\u00b2\u00bd", "x\u00b2", "1\u00b2", "\u00bd1", "\u2167", "\u2460a", "\u0bf0",
    "_", "__", " _", "  _", "a_b", "_a", "snake_case_name", "__init__", "_1_", "!_!", "\u203f", "\uff3f",
    "e\u0301", "\u0301", "a\u0301b", "\u0e01\u0e33\u0e19\u0e49\u0e33", "\u0928\u092e\u0938\u094d\u0924\u0947", "\u05e9\u05c1\u05dc\u05d5\u05dd",
    "\u4f60\u597d", " \u4f60 \u597d", "\u4f60a\u597d", "a\u4f60", "1\u4f601", "\u65e5\u672c\u8a9e\u306e\u30c6\u30b9\u30c8", "\u30fb", "!\u30fb!", " \u30fb", "\u30a0\u30fb",
    "\u3099", "a\u3099", "!\u3099\u309a!", "\u3005\u3006\u3007", "\u3004\u3008", "\u3000\u4f60", "\u4f60\u3002", "\ud55c\uad6d\uc5b4", "\uff76\uff9e\uff66", "\uff65\uff70",
    "\U00020000\U0002a6d6 \U0002f800", "\U0001b000a\U0001f200", "\uf900\ufa0e", "\u3400\u4dbf\u4dc0", "\u9fff\ua000", "\uabff\uac00\ud7a3\ud7b0",
    "\x1c", "\x1da", " \x1e\x1fa", "\x85a", "\xa0a", " \xa0a", "\xa0 a", "\u1680 a", "\u200b a", "\u2028\u2029a", "\u202f1", "\u205f_", "\u3000\u3000", "\u180e",
    "\t\tindent", "    indent", "\tx", " \tx", "\t x", "line\r\nline", "line\r\n  line", "end\r\n", "a\x00b", "\x00", "\x7f",
    "if (x==1) { return y->z; } // done", "...", " ...", ". . .", "a.b", "$100.50", "50%", "#tag @user", "http://a.b/c?d=e&f=g#h",
    "\U0001f600", " \U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "ok\U0001f44d\U0001f3fd!", "\ufe0f", "\u20ac5", "\ufffd", "\ufeffbom",
    "na\u00efve caf\u00e9", "STRASSE stra\u00dfe \u1e9e", "\u0130\u0131I", "\u01c5", "\u02b0\u02ee", "\u01bb", "\u00aa\u00ba", "\u00b5\u03bc",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "\u0645\u0631\u062d\u0628\u0627", "\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0",
]


def assigned(low, high):
    return [chr(c) for c in range(low, high + 1)
            if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]


def main():
    rng = random.Random(1)
    pools = [
        list("ab' sStTlLvVeErR"),
        list("  \t\n\r\x1c\x85\xa0\u2003\u3000a1_!"),
        list("0123456789 \u0660\u00b2\u00bd,."),
        list("\u4e00\u3042\u30ab\uac00\u30fb\u3099\u30a0 a1_!\n\U00020000"),
        list("ab_ 1!'\u0301\u017f\u4e00\u00b2\n"),
        assigned(0x00, 0x7f), assigned(0x80, 0x24f), assigned(0x250, 0x1fff), assigned(0x2000, 0x33ff),
        assigned(0xa000, 0xffef), assigned(0x10000, 0x1ffff), assigned(0x0, 0x2ffff),
    ]
    strings = list(WRITTEN)
    for pool in pools:
        for _ in range(40):
            strings.append("".join(rng.choice(pool) for _ in range(rng.randint(1, 24))))
    # ASCII escapes keep the file readable in any editor, control characters included.
    print("[")
    print(",\n".join(json.dumps(PATTERN.findall(s)) for s in strings))
    print("]")


if __name__ == "__main__":
    main()
