// The page's own words, in English and Chinese.

const ENGLISH = {
  pick: (noun) => `Pick ${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}: what did it attend to, and what mattered?`,
  record: (count) => `One of ${count}:`,
  keys: "Keys",
  keysWork: "These keys work.",
  average: (count) => `average of ${count} heads`,
  layerOf: (layer, count) => `layer ${layer} of ${count}`,
  headOf: (head, count) => `head ${head} of ${count}`,
  pooling: "pooling",
  overAll: (count) => `average over all ${count}`,
  compared: "Attended beside mattered",
  comparedNote: "the weight, and what hiding it changes",
  attended: "attended",
  boxes: ", by head",
  mattered: "mattered",
  without: "without it",
  others: (count) => `${count} other${count > 1 ? "s are" : " is"} lower in both.`,
  heads: "Heads",
  headsNote: "and the answer without each",
  allHeads: "average",
  map: (noun) => `All ${noun}`,
  mapNote: "each row attends to the columns",
  steps: (weight) => `How the ${weight} came about`,
  product: "q · k",
  scale: "× scale",
  root: (size) => `÷ √${size}`,
  position: (distance) => (distance === 0 ? "+ position (itself)"
    : `+ position (${Math.abs(distance)} ${distance < 0 ? "before" : "after"})`),
  mask: "mask",
  allowed: "allowed",
  hidden: "hidden: the weight is 0",
  largest: "− the largest score",
  softmax: (count) => `softmax over ${count}`,
  mean: "average of heads",
  noSteps: (rule) => `The page doesn't hold the vectors of this head (${rule}).`,
  pooledSteps: "This is an average over all rows, which has no steps of its own. Choose a cell of the map.",
  checked: (difference) => `Checked: the layers' own outputs, computed again from this record, differ by at most ` +
    `${difference}.`,
  about: "A weight says how much was attended to, an effect what changes without it.",
  aWeight: "weight",
  missing: ({ layer, number, head }) => {
    const held = layer.vectors?.heads ?? [];
    if (layer.later?.length) return "…";
    if (head !== null || !held.length) return "The page holds no single weights of this head, only its overview: the map.";
    return `The page holds ${held.length} of the ${layer.heads} heads, so their average has an overview only: the map. ` +
      `Choose ${held.map((each) => `${number + 1}.${each + 1}`).join(", ")}.`;
  },
  noVectors: ({ head }) => (head === null
    ? "Of this average the page holds the largest weights of each row, and not the vectors of all heads."
    : "Of this head the page holds the largest weights of each row, and not its vectors."),
  rest: (count, sum, others, least) => `The page holds the ${count} largest weights of this row, which sum to ${sum}. ` +
    `The other ${others.toLocaleString("en")} are at most ${least} each.`,
  leftOut: ({ layers, exact, largest, heads }) => {
    const name = /[–,]/.test(layers) ? `Layers ${layers}` : `Layer ${layers}`, rest = heads - exact - largest;
    const parts = [exact ? `the weights of ${exact} of ${heads} heads` : "",
      largest ? `the largest weights of each row of ${largest}${exact ? "" : ` of ${heads}`} heads` : "",
      rest ? `of ${exact || largest ? rest : "all"} heads the overview only` : ""].filter(Boolean);
    return `${name}: the page holds ${parts.join(", ")}. With more it would be too large.`;
  },
  legend: "weight",
  masked: "hidden by the mask",
  whole: "whole map",
  closer: "closer",
  wider: "wider",
  joined: (tall, wide) => `A cell joins ${tall} × ${wide}: summed over keys, averaged over queries.`,
  taken: (rows, tall) => `Of its ${tall} queries ${rows} were taken.`,
  largestOnly: "Only the largest weights of each row are here; the others are drawn as 0.",
  largestOne: (percent) => `of which the largest weight is ${percent}`,
  dot: (percent) => `a single weight, of up to ${percent}, that the colour of its cell hides`,
  moreBefore: (count, noun) => `${count.toLocaleString("en")} ${noun} before`,
  moreAfter: (count, noun) => `${count.toLocaleString("en")} ${noun} after`,
  before: (percent, text, distance) => `${percent} from ${text}, ${distance} back`,
  after: (percent, text, distance) => `${percent} from ${text}, ${distance} on`,
  hide: "hidden from all",
  find: "Find",
  language: "Language",
  help: [
    ["← →", "another item"], ["[ ]", "another layer"], [", .", "another head"], ["a", "average of heads"],
    ["↑ ↓", "the key whose steps are shown"], ["/", "find an item"], ["?", "these keys"], ["Esc", "close"],
  ],
  close: "Close",
  answer: "The answer",
  noEffects: "What mattered wasn't measured.",
  query: (name) => `${name} attends to`,
  type: "Your text",
  drop: (noun) => `Your ${noun}: drop it anywhere, or choose a file`,
  see: "See",
  measure: "Measure what mattered",
  busy: "The model is running …",
  noServer: "The server doesn't answer. Is regard serve still running?",
  picture: (rows, columns) => `The picture in ${rows} by ${columns} patches. Arrow keys choose another one.`,
  sound: (seconds, count) => `The sound of ${seconds} seconds in ${count} frames. Arrow keys choose another one.`,
  play: "The sound as the model was given it",
  spectrogram: (bands, highest) => `Waveform above ${bands} mel bands up to ${highest.toLocaleString("en")} Hz.`,
  silent: (size) => `The page leaves the sound itself out: it takes ${size} MB, and a page plays 2 MB at most.`,
  graph: (nodes, edges) => `The graph of ${nodes.toLocaleString("en")} nodes and ${edges.toLocaleString("en")} edges.`,
  adjacency: "Each row has a mark for each node that it can attend to. Below: the chosen row.",
  molecule: (atoms) => `The molecule of ${atoms} atoms.`,
  rows: (rows, columns) => `A table of ${rows.toLocaleString("en")} rows and ${columns.toLocaleString("en")} columns.`,
  columns: (shown, all) => `The page shows the first ${shown} of ${all.toLocaleString("en")} columns.`,
  both: "A and B, and what differs",
  bothHeadsNote: "A beside B, by layer and number; heads of models that were trained apart need have nothing in common",
  change: "B − A",
  bMinusA: "B − A:",
  onlyIn: (side) => `only in ${side}`,
  differMost: "Differ most:",
  moved: (percent) => `${percent} of its weight is on other items`,
  differenceMap: "what differs",
  smallerInB: "smaller in B",
  largerInB: "larger in B",
  inBoth: (one, other, gap) => `${one} in A, ${other} in B, ${gap}`,
  noDifference: "These weights have no partners, so there is no difference to draw.",
  tooLittle: "The page holds too few weights of one of them to draw the difference.",
  tooMany: (most) => `Of texts of different lengths the difference has up to ${most} items: look closer.`,
  noLayer: (side) => `${side} has no such layer or head.`,
  noPartner: (noun, side) => `The chosen ${noun} has no partner in ${side}.`,
  obstacle: {
    kinds: ([one, other]) => `A is a ${one} and B a ${other}, ${NO_PARTNERS}`,
    sizes: (_, counts, nouns) => `A has ${counts[0].toLocaleString("en")} ${nouns[0]} and B ${counts[1].toLocaleString("en")} ${nouns[1]}, ` +
      NO_PARTNERS,
    queries: () => `In one record the items attend to each other, in the other what is written attends to them, ${NO_PARTNERS}`,
  },
  alone: (counts, nouns) => `${counts.map((count, i) => (count ? `${count.toLocaleString("en")} ${nouns[i]} of ${"AB"[i]}` : ""))
    .filter(Boolean).join(" and ")} ${counts[0] + counts[1] === 1 ? "has" : "have"} no partner, so the difference leaves ` +
    `${counts[0] + counts[1] === 1 ? "it" : "them"} out.`,
  otherLayers: (one, other) => `A has ${one} layer${one === 1 ? "" : "s"} and B ${other}. Layers and heads are compared by their numbers.`,
  otherKinds: "A and B predict different kinds of things, so their effects aren't compared.",
  unmeasured: (side) => `What mattered wasn't measured in ${side}.`,
};

const NO_PARTNERS = "so no item of one has a partner in the other, and single weights aren't compared.";

const CHINESE = {
  pick: () => "选一个词：它注意了什么，什么真正起了作用？",
  record: (count) => `共 ${count} 份：`,
  keys: "按键",
  keysWork: "这些按键生效。",
  average: (count) => `${count} 个头的平均`,
  layerOf: (layer, count) => `第 ${layer} 层，共 ${count} 层`,
  headOf: (head, count) => `第 ${head} 个头，共 ${count} 个`,
  pooling: "池化",
  overAll: (count) => `全部 ${count} 项的平均`,
  compared: "注意与作用",
  comparedNote: "权重，以及遮住它时答案的变化",
  attended: "注意",
  boxes: "，按头",
  mattered: "作用",
  without: "没有它",
  others: (count) => `其余 ${count} 项两者都更小。`,
  heads: "注意力头",
  headsNote: "以及去掉每个头之后的答案",
  allHeads: "平均",
  map: () => "全部",
  mapNote: "每一行注意各列",
  steps: (weight) => `${weight} 是怎样算出来的`,
  product: "q · k",
  scale: "× 缩放",
  root: (size) => `÷ √${size}`,
  position: (distance) => (distance === 0 ? "+ 位置（自身）"
    : `+ 位置（${distance < 0 ? "前" : "后"} ${Math.abs(distance)}）`),
  mask: "掩码",
  allowed: "可见",
  hidden: "被遮住：权重为 0",
  largest: "− 最大的打分",
  softmax: (count) => `对 ${count} 项做 softmax`,
  mean: "各头的平均",
  noSteps: (rule) => `页面里没有这个头的向量（${rule}）。`,
  pooledSteps: "这是所有行的平均，没有自己的步骤。请在图中选一格。",
  checked: (difference) => `已核对：由这份记录重新算出的各层输出，与原来最多相差 ${difference}。`,
  about: "权重说明注意了多少，作用说明没有它会怎样。",
  aWeight: "权重",
  missing: ({ layer, number, head }) => {
    const held = layer.vectors?.heads ?? [];
    if (layer.later?.length) return "……";
    if (head !== null || !held.length) return "页面里没有这个头的各个权重，只有概览图。";
    return `页面里只有 ${layer.heads} 个头中的 ${held.length} 个，所以它们的平均只有概览图。` +
      `请选 ${held.map((each) => `${number + 1}.${each + 1}`).join("、")}。`;
  },
  noVectors: ({ head }) => (head === null ? "页面里有这个平均每行最大的权重，没有所有头的向量。"
    : "页面里有这个头每行最大的权重，没有它的向量。"),
  rest: (count, sum, others, least) => `页面里有这一行最大的 ${count} 个权重，合计 ${sum}。` +
    `其余 ${others.toLocaleString("en")} 个每个最多 ${least}。`,
  leftOut: ({ layers, exact, largest, heads }) => {
    const rest = heads - exact - largest;
    const parts = [exact ? `${heads} 个头中 ${exact} 个的权重` : "", largest ? `${largest} 个头每行最大的权重` : "",
      rest ? `${rest} 个头只有概览图` : ""].filter(Boolean);
    return `第 ${layers} 层：页面里有${parts.join("，")}。再多就太大了。`;
  },
  legend: "权重",
  masked: "被掩码遮住",
  whole: "整张图",
  closer: "放大",
  wider: "缩小",
  joined: (tall, wide) => `每格合并 ${tall} × ${wide}：对键求和，对查询求平均。`,
  taken: (rows, tall) => `其中 ${tall} 个查询取了 ${rows} 个。`,
  largestOnly: "这里只有每行最大的权重，其余画成 0。",
  largestOne: (percent) => `其中最大的权重是 ${percent}`,
  dot: (percent) => `格子的颜色看不出的单个权重，最大 ${percent}`,
  moreBefore: (count) => `前面还有 ${count.toLocaleString("en")} 项`,
  moreAfter: (count) => `后面还有 ${count.toLocaleString("en")} 项`,
  before: (percent, text, distance) => `${percent} 来自 ${text}，往前 ${distance}`,
  after: (percent, text, distance) => `${percent} 来自 ${text}，往后 ${distance}`,
  hide: "对所有词遮住",
  find: "查找",
  language: "语言",
  help: [
    ["← →", "换一项"], ["[ ]", "换一层"], [", .", "换一个头"], ["a", "各头的平均"],
    ["↑ ↓", "换一个键，看它的步骤"], ["/", "查找"], ["?", "按键"], ["Esc", "关闭"],
  ],
  close: "关闭",
  answer: "答案",
  noEffects: "没有测量作用。",
  query: (name) => `${name} 注意`,
  type: "输入文字",
  drop: () => "把文件拖到页面上，或者选择一个文件",
  see: "查看",
  measure: "测量作用",
  busy: "模型正在运行……",
  noServer: "服务器没有回答。regard serve 还在运行吗？",
  picture: (rows, columns) => `图片，${rows} × ${columns} 块。用方向键换一块。`,
  sound: (seconds, count) => `声音，${seconds} 秒，${count} 帧。用方向键换一帧。`,
  play: "模型得到的声音",
  spectrogram: (bands, highest) => `上面是波形，下面是 ${bands} 个梅尔频带，最高 ${highest.toLocaleString("en")} Hz。`,
  silent: (size) => `页面里没有声音本身：它有 ${size} MB，页面最多放 2 MB。`,
  graph: (nodes, edges) => `图，${nodes.toLocaleString("en")} 个节点，${edges.toLocaleString("en")} 条边。`,
  adjacency: "每一行标出它能注意的节点。下面是选中的那一行。",
  molecule: (atoms) => `分子，${atoms} 个原子。`,
  rows: (rows, columns) => `表，${rows.toLocaleString("en")} 行，${columns.toLocaleString("en")} 列。`,
  columns: (shown, all) => `页面显示 ${all.toLocaleString("en")} 列中的前 ${shown} 列。`,
  both: "A 与 B 的比较",
  bothHeadsNote: "A 与 B 并列，按层和编号；分别训练的模型，同号的头未必有共同之处",
  change: "B − A",
  bMinusA: "B − A：",
  onlyIn: (side) => `只在 ${side} 中`,
  differMost: "相差最大：",
  moved: (percent) => `${percent} 的权重在别的项上`,
  differenceMap: "差别",
  smallerInB: "B 中更小",
  largerInB: "B 中更大",
  inBoth: (one, other, gap) => `A ${one}，B ${other}，${gap}`,
  noDifference: "这些权重没有对应，所以没有差别可画。",
  tooLittle: "页面里其中一方的权重太少，画不出差别。",
  tooMany: (most) => `长度不同的文字，差别图最多 ${most} 项：请放大。`,
  noLayer: (side) => `${side} 没有这一层或这个头。`,
  noPartner: (noun, side) => `选中的${noun}在 ${side} 中没有对应项。`,
  obstacle: {
    kinds: ([one, other]) => `A 是${INPUT_NAMES[one]}，B 是${INPUT_NAMES[other]}，项与项不对应，所以不逐个比较权重。`,
    sizes: (_, counts, nouns) => `A 有 ${counts[0].toLocaleString("en")} ${nouns[0]}，B 有 ${counts[1].toLocaleString("en")} ${nouns[1]}，` +
      "项与项不对应，所以不逐个比较权重。",
    queries: () => "一份记录中各项互相注意，另一份中由写出的词注意它们，项与项不对应，所以不逐个比较权重。",
  },
  alone: (counts, nouns) => `${counts.map((count, i) => (count ? `${"AB"[i]} 中有 ${count.toLocaleString("en")} 个${nouns[i]}` : ""))
    .filter(Boolean).join("，")}没有对应项，差别里不包括。`,
  otherLayers: (one, other) => `A 有 ${one} 层，B 有 ${other} 层。层和头按编号比较。`,
  otherKinds: "A 与 B 预测的不是同一类东西，所以不比较作用。",
  unmeasured: (side) => `没有测量 ${side} 的作用。`,
};

const INPUT_NAMES = { text: "文字", picture: "图片", sound: "声音", graph: "图", molecule: "分子", table: "表" };

/** The words of a language. */
export function wordsOf(lang) {
  return lang === "zh" ? CHINESE : ENGLISH;
}

const NOUNS = { word: "词", piece: "词片", patch: "块", frame: "帧", atom: "原子", node: "节点", item: "项",
  character: "字", step: "步" };

/** The name of an item, in a language. */
export function nounOf(noun, lang, many = false) {
  if (lang === "zh") return NOUNS[noun] || noun;
  return many ? (/(ch|s|x)$/.test(noun) ? `${noun}es` : `${noun}s`) : noun;
}

const PATTERNS = { previous: "前一项", next: "后一项", same: "自身", first: "首项", separator: "分隔符",
  duplicate: "相同项", induction: "归纳", diagonal: "对角", uniform: "均匀" };

/** The name of a head's pattern, in a language. */
export function patternOf(pattern, lang) {
  return lang === "zh" ? PATTERNS[pattern] || pattern : pattern;
}
