"""The words of the pages of steps and of their exercises, in English and Chinese, for the terminal and the script."""

from regard.errors import UnknownNameError

__all__ = ["LANGUAGES", "phrase", "phrases"]

LANGUAGES = ("en", "zh")

_PHRASES: dict[str, tuple[str, str]] = {
    # Steps, by their names.
    "projected query": ("projected query", "投影后的 query"),
    "query direction": ("query direction", "query 的方向"),
    "key directions": ("key directions", "key 的方向"),
    "positioned query": ("query at its position", "带位置的 query"),
    "positioned keys": ("keys at their positions", "带位置的 key"),
    "sums of vectors": ("sums of vectors", "向量相加"),
    "activation": ("activation", "激活"),
    "products": ("products", "逐项相乘"),
    "sum": ("sum", "求和"),
    "score": ("score", "打分"),
    "scale": ("scale", "缩放"),
    "soft cap": ("soft cap", "软上限"),
    "position bias": ("position bias", "位置偏置"),
    "position": ("position", "加位置"),
    "mask": ("mask", "掩码"),
    "temperature": ("temperature", "除以温度"),
    "largest": ("largest", "只留最大的"),
    "maximum": ("maximum", "最大值"),
    "exp": ("exp", "取指数"),
    "total": ("total", "总和"),
    "positive part": ("positive part", "取正"),
    "bias": ("bias", "加偏置"),
    "scaled scores": ("scaled scores", "乘系数"),
    "threshold": ("threshold", "阈值"),
    "normalise": ("normalise", "归一化"),
    "weighted values": ("weighted values", "加权的 value"),
    "weighted sum": ("weighted sum", "加权求和"),
    "position of values": ("position of values", "value 的位置"),
    "output": ("output", "输出"),
    # The page.
    "matrices": ("Query, key and value", "Query、Key 与 Value"),
    "inputs": ("Inputs and matrices", "输入与矩阵"),
    "all rows": ("All queries and keys", "所有的 query 与 key"),
    "too large": (
        "On a page of matrices with up to 24 rows and columns the numbers can be edited. These are larger.",
        "行数和列数不超过 24 的矩阵，网页里的数字可以修改；这里的矩阵更大。",
    ),
    "item": ("item", "项"),
    "projecting": ("{letter} of {item} = x W: {numbers}", "{item} 的 {letter} = x W：{numbers}"),
    "pair": ("From {query} to {key}, number by number", "从 {query} 到 {key}，逐个数字"),
    "step": ("step", "步骤"),
    "formula": ("formula", "公式"),
    "named formula": ("{name}: {formula}", "{name}：{formula}"),
    "numbers": ("numbers", "数字"),
    "row": ("All keys of {query}", "{query} 的所有 key"),
    "key": ("key", "key"),
    "weight": ("weight", "权重"),
    "outputs": ("From weights to the output of {query}", "从权重到 {query} 的输出"),
    "value": ("value", "value"),
    "weight x value": ("weight x value", "权重 x value"),
    "in all": ("sum", "合计"),
    "query number": ("query {number}", "query {number}"),
    "key number": ("key {number}", "key {number}"),
    "other keys": (
        "{shown} of {count} keys are shown: the one above, and those with the largest weights. The other {others} "
        "aren't shown; their weights sum to {sum}.",
        "共 {count} 个 key，这里列出 {shown} 个：上面的那个和权重最大的。其余 {others} 个未列出，权重之和为 {sum}。",
    ),
    "other rows": (
        "The first {shown} of {count} rows are shown; the other {others} aren't.",
        "共 {count} 行，这里列出前 {shown} 行；其余 {others} 行未列出。",
    ),
    "of a record": (
        "Layer {layer} of the record, head {head} of {heads}, item {item} of the batch.",
        "记录中的第 {layer} 层，{heads} 个头中的第 {head} 个，批次中的第 {item} 项。",
    ),
    "last digits": (
        "The computation uses all digits, and four are written. So a sum may differ in its last digit from the sum of "
        "the written numbers.",
        "计算时用全部数位，只写出四位：和的末位可能与所写各数之和不同。",
    ),
    "nothing": (
        "The mask hides every key from {query}: its output is zeros.",
        "掩码遮住了 {query} 的所有 key，所以输出为零。",
    ),
    "printed": ("Beside the note", "与笔记对照"),
    "note": ("the note prints", "笔记所印"),
    "ours": ("here", "此处"),
    "rounded": (
        "The note rounds its weights to the nearest half before it multiplies by the values. Its output therefore "
        "differs by up to {gap}.",
        "笔记先把权重舍入到 0.5 的倍数，再乘 value，所以输出最多相差 {gap}。",
    ),
    "not the note": (
        "The note's numbers belong to its own example. The numbers here follow from what was chosen or changed on this "
        "page.",
        "笔记的数字属于它的例题；此处的数字按本页所选、所改的算出。",
    ),
    "equal": ("The numbers are those of the note.", "数字与笔记一致。"),
    "with and without": ("With and without sqrt(d)", "除与不除以 √d"),
    "without": ("without sqrt(d)", "不除以 √d"),
    "with": ("with sqrt(d)", "除以 √d"),
    "temperatures": ("Temperature, from hard to uniform", "温度：从只取一个到平均"),
    "T": ("temperature", "温度"),
    "weights": ("weights", "权重"),
    "hard": ("hard (T -> 0)", "只取一个（T → 0）"),
    "uniform": ("uniform (T -> inf)", "平均（T → ∞）"),
    # The page whose numbers can be edited: its sections, the labels of its controls, and what is said of an edit.
    "same inputs": ("Inputs, which are query, key and value", "输入，同时是 Query、Key 与 Value"),
    "projections": ("q = x Wq, k = x Wk, v = x Wv", "q = x Wq，k = x Wk，v = x Wv"),
    "scores": ("Scores", "打分"),
    "scores note": ("each row is a query, each column a key", "每行一个 query，每列一个 key"),
    "position and mask": ("Position and mask", "位置与掩码"),
    "mask note": (
        "a click hides a key from a query, or shows it again",
        "点一下，对这个 query 遮住或显示这个 key",
    ),
    "to weights": ("From scores to weights", "从打分到权重"),
    "all outputs": ("Outputs", "输出"),
    "outputs note": ("the weighted sum of the values", "value 的加权和"),
    "exercise": ("Exercise", "练习"),
    "end exercise": ("End the exercise", "结束练习"),
    "restart": ("Back to the start", "恢复原样"),
    "label query": ("Query", "Query"),
    "label key": ("Key", "Key"),
    "label score": ("Score", "打分"),
    "label divisor": ("divided by", "除以"),
    "label slope": ("Slope of the position bias", "位置偏置的斜率"),
    "label weights": ("Normaliser", "归一化"),
    "label temperature": ("Temperature", "温度"),
    "label hard": ("hard", "只取一个"),
    "label uniform": ("uniform", "平均"),
    "number of entmax": ("alpha", "alpha"),
    "number of budget": ("budget", "总和"),
    "number of top_k": ("keys", "个数"),
    "dot": ("dot product", "点积"),
    "additive": ("additive", "加性"),
    "cosine": ("cosine", "余弦"),
    "root": ("√d = {size}", "√d = {size}"),
    "undivided": ("1, not divided", "1，不除"),
    "all keys": ("all keys", "全部可见"),
    "causal": ("causal", "因果"),
    "hidden": ("hidden", "遮住"),
    "shown": ("shown", "可见"),
    "cell": ("{matrix}, {row}, {column}", "{matrix}，{row}，{column}"),
    "is no number": (
        "{field}: “{text}” isn't a number. It stays {kept}.",
        "{field}：“{text}”不是数字，仍为 {kept}。",
    ),
    "is outside": (
        "{field}: {text} isn't between {low} and {high}. It stays {kept}.",
        "{field}：{text} 不在 {low} 到 {high} 之间，仍为 {kept}。",
    ),
    "is not whole": (
        "{field}: {text} isn't a whole number. It stays {kept}.",
        "{field}：{text} 不是整数，仍为 {kept}。",
    ),
    "one change": ("1 change:", "改动了 1 处："),
    "changes": ("{count} changes:", "改动了 {count} 处："),
    "more changes": ("and {count} more", "还有 {count} 处"),
    "back": ("{what}: back to {before}", "{what}：恢复为 {before}"),
    "none moved": ("No other number changes.", "其他数字不变。"),
    "one moved": ("1 other number changes.", "另有 1 个数字随之改变。"),
    "several moved": ("{count} other numbers change.", "另有 {count} 个数字随之改变。"),
    "weight stays": ("The weight of {key} for {query} stays {after}.", "{query} 对 {key} 的权重仍为 {after}。"),
    "weight moved": (
        "The weight of {key} for {query}: {before} → {after}.",
        "{query} 对 {key} 的权重：{before} → {after}。",
    ),
    "nothing seen": (
        "{query} may see no key, so its weights and its output are 0.",
        "{query} 看不到任何 key，所以权重和输出都为 0。",
    ),
    "address": (
        "The address of the page holds your numbers. Send it together with the file, and another reader sees the same.",
        "网页的地址里有你改过的数字。把地址和文件一起发给别人，看到的就是同样的内容。",
    ),
    "keys": (
        "Arrow keys go from field to field, and choose the query and the key in the tables of all pairs.",
        "方向键在输入框之间移动，并在各表中选择 query 和 key。",
    ),
    "page intro": (
        "Fill in the blanks for query {query} and key {key}, to two decimals or more. The computed numbers are hidden "
        "until the exercise ends.",
        "请填空：query 为 {query}，key 为 {key}，至少两位小数。练习结束前不显示算出的数字。",
    ),
    "write a number": ("Write a number such as 0.43.", "请输入数字，如 0.43。"),
    "show answer": ("Show the answer", "看答案"),
    # Exercises.
    "intro": (
        "Fill in the blanks for query {query} and key {key}, to two decimals or more. ? shows the answer, q ends.",
        "请填空：query 为 {query}，key 为 {key}，至少两位小数。输入“?”看答案，输入“q”结束。",
    ),
    "ask": ("{number}/{count} {name}: {formula}", "{number}/{count} {name}：{formula}"),
    "right": ("Right.", "正确。"),
    "wrong": ("Not yet. Try again.", "不对，再试一次。"),
    "no number": ("Write a number such as 0.43, ? or q.", "请输入数字（如 0.43）、“?”或“q”。"),
    "answer": ("The answer is {value}.", "答案是 {value}。"),
    "forgot sqrt(d)": ("You forgot to divide by sqrt(d).", "忘了除以 √d。"),
    "divided by d": ("You divided by d instead of sqrt(d).", "除以了 d，应除以 √d。"),
    "transposed": (
        "Transposed: you took the query of {key} and the key of {query}.",
        "转置了：取成了 {key} 的 query 和 {query} 的 key。",
    ),
    "column": ("You took columns of the matrices instead of rows.", "取成了矩阵的列，应取行。"),
    "wrong axis": (
        "You normalised over the queries. The weights of one query sum to 1 over the keys.",
        "归一化的方向错了：应对同一个 query 的所有 key 归一化，而不是对 query。",
    ),
    "forgot exp": (
        "You forgot the exponential: softmax divides exp(s), not s.",
        "忘了取指数：softmax 相除的是 exp(s)，不是 s。",
    ),
    "forgot maximum": ("You forgot to subtract the maximum m.", "忘了减去最大值 m。"),
    "summary": (
        "{right} of {count} right, {first} of them at once; {shown} shown.",
        "{count} 题中答对 {right} 题，其中 {first} 题一次答对；看答案 {shown} 题。",
    ),
}


def phrase(name: str, language: str, /, **fields: object) -> str:
    """The words for something, in a language.

    Raises:
        UnknownNameError: the language is another than "en" and "zh".

    Example:
        >>> phrase("normalise", "zh"), phrase("summary", "en", right=3, count=4, first=2, shown=1)
        ('归一化', '3 of 4 right, 2 of them at once; 1 shown.')
    """
    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    return _PHRASES[name][LANGUAGES.index(language)].format(**fields)


def phrases(language: str) -> dict[str, str]:
    """All phrases of a language by their names, with fields in braces.

    Raises:
        UnknownNameError: the language is another than "en" and "zh".

    Example:
        >>> phrases("zh")["answer"]
        '答案是 {value}。'
    """
    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    return {name: texts[LANGUAGES.index(language)] for name, texts in _PHRASES.items()}
