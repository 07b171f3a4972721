/** The words of the page, in the reader's language, and titles of a benchmark in the same or in the one that was chosen. */
import { fixed, percent, usd } from "./quantities";

const ENGLISH = {
  runs: "Runs",
  report: "Report",
  samples: "Samples",
  judges: "Judges",
  spec: "Benchmark",
  leaderboards: "Leaderboards",
  compare: "Compare",
  history: "History",
  run: "Run",
  benchmark: "Benchmark",
  model: "Model",
  status: "Status",
  cost: "Cost",
  coverage: "Coverage",
  headline: "Headline",
  headlineKept: "Headline at its end",
  furtherFigures: "further figures",
  noRuns: "The store has no runs yet. “tripos run SPEC --model MODEL” makes one.",
  loading: "Loading …",
  failed: "This could not be read",
  value: "Value",
  interval: "95 % interval",
  items: "Items",
  scored: "Scores with a value",
  rank: "Rank",
  group: "Group",
  metric: "Metric",
  scenario: "Scenario",
  evaluator: "Evaluator",
  language: "Language",
  apartBy: "apart",
  ofItems: "items",
  scoreMeans: "From 0 to 1: the score of a reply on the scale of the metric that is named with it; the mean, where several judges gave one.",
  measure: "Measure",
  role: "Role",
  score: "Score",
  reply: "Reply",
  prompt: "Prompt",
  parsed: "Read from the reply",
  item: "Item",
  fields: "Fields of the item",
  judgements: "Judgements",
  scores: "Scores",
  dialogue: "Conversation",
  otherSteps: "Other steps about this item",
  previous: "Previous",
  next: "Next",
  of: "of",
  filters: "Filters",
  all: "all",
  clear: "Clear filters",
  search: "Search in replies",
  sort: "Sort by",
  order: "order of the items",
  lowest: "lowest score first",
  highest: "highest score first",
  apart: "largest disagreement first",
  costliest: "highest cost first",
  slowest: "longest time first",
  onlyCompared: "replies under test only",
  openSample: "Open sample",
  copyLink: "Copy a link to this sample",
  copied: "Copied",
  showMore: "Show all",
  characters: "characters",
  seconds: "s",
  tokens: "tokens",
  notAll: "Not all that was planned is here: this run is",
  colon: ": ",
  stop: ".",
  inWords: "In words",
  proves: "Models of this run stand in for real ones: the figures show that the pipeline works, nothing about a model.",
  below: "Not clear of a baseline",
  remarks: "Remarks",
  gaps: "Missing",
  expectations: "Expectations",
  held: "held",
  notHeld: "not held",
  grid: "Scores by scenario and metric, from 0 to 1 of the scale",
  gridTab: "Side by side",
  gridRows: "rows",
  gridKeys: "Keys: j and k open the next and the previous row, h and l choose a model, Enter opens its reply, Esc closes the row. The address names the cell.",
  byAxis: "Scores by axis",
  byAxisMeans: "The mean of the scores in one metric, from 0 to 1 of its scale.",
  lower: " (lower is better)",
  meaning: "SQL of this measure",
  agreement: "Agreement of evaluators",
  exact: "Same grade",
  within: "At most one apart",
  correlation: "Correlation",
  difference: "Mean difference",
  severity: "Mean grade by evaluator and metric, from 0 to 1 of the scale",
  preference: "Mean grade by evaluator and model, from 0 to 1 of the scale",
  position: "Share of comparisons that the reply shown first won",
  confusion: "Classes",
  confusionMeans: "A row for each class that is right, a column for each that was said. A frame marks what is right; the shade is the share of its row.",
  isRight: "right",
  wasSaid: "said",
  noClass: "no value",
  tooManyClasses: "classes are too many for a table",
  reliability: "Probabilities and what came true",
  reliabilityMeans: "Each dot is a bin of probabilities: to the right their mean, upwards the share that came true. On the line they are the same.",
  bin: "Bin",
  meanChance: "Mean probability",
  cameTrue: "Came true",
  nothingHere: "nothing has a value",
  noJudges: "No evaluator graded replies of this run.",
  differences: "Differences, largest first",
  chooseTwo: "Choose two runs or models to compare.",
  pairs: "Shared scores",
  paired: "Paired differences",
  pValue: "p",
  qValue: "q",
  onlyOne: "only on one side",
  changedBetween: "Changed between the two runs",
  version: "Version",
  changed: "the meaning of the figure changed here",
  unfinishedPoint: "A ring is of a run that did not come to its end: no line goes through it.",
  axes: "Axes",
  arms: "Arms",
  metrics: "Metrics",
  scenarios: "Scenarios",
  references: "References",
  roles: "Roles",
  steps: "Steps",
  skip: "Skip to content",
  table: "Table",
  tables: "Tables",
  copyTable: "Copy as",
  leftOut: "This page leaves out",
  rows: "Rows",
  noData: "There is nothing to show here.",
  noBaseline: "is not clear of",
  verdict: "Verdict",
  whatItMeans: "What this measure means",
  measures: "Measures",
  specText: "The spec as it was run",
  noSpecText: "This run kept no text of its spec: it was made by an older Tripos, or imported.",
  line: "line",
  lines: "lines",
  madeOf: "Made of",
  step: "Step",
  firstWon: "First won",
  positionMeans: "Of comparisons, the share that the reply shown first won; a tie counts half. Without a lean it is 50 %.",
  selfPreference: "Preference for own replies, from −1 to 1 of the scale",
  selfPreferenceMeans: "How much more a judge grades its own replies above those of others than the other judges do.",
  ownLead: "Lead",
  grading: "Grading",
  rationale: "Rationale",
  graded: "graded",
  saved: "Saved",
  unsaved:
    "Not saved: nothing answers where this page was started. Start it there again with the same command, and give the last grades once more on the new page.",
  allGraded: "All replies are graded. Press Ctrl-C where the page was started: it then says how to import the grades.",
  nextOpen: "Next without grade",
  keys: "Keys: 1–9 give a grade (0 for 10) and go to the next criterion, n next, p previous, u next without grade, r rationale, Esc leaves a text, Backspace takes a grade away.",
  ofPeople: "People, apart from the models",
  ofJudge: "The judge alone: the interval speaks of the judge, and not of people",
  corrected: ", corrected by people",
  itemCounts: "Items of each metric",
  itemText: "Text",
  itemsOneByOne: "Items one by one",
  itemsMean:
    "Place on the scale: the mean over models, from 0 to 100 %. Tells apart: the correlation, over models, of the item with the others; below 0 models that do better elsewhere do worse on it. Those to look at come first.",
  noItems: "No item has a score with a value.",
  placeOnScale: "Place on the scale",
  discrimination: "Tells apart",
  judgesApart: "Judges apart",
  lookAt: "Look at",
  solvedByAll: "solved by every model",
  solvedByNone: "solved by no model",
  judgesSplit: "judges split",
  wrongKey: "against the rest: look at the key",
  nearly: "nearly the same as another",
  notes: "Notes",
  again: "look again",
  good: "good",
  bad: "bad",
  comment: "comment",
  flag: "Flag",
  yourName: "Your name",
  asName: "as",
  save: "Save",
  saving: "Saving …",
  savedHere: "Kept in this browser",
  notSaved: "Not saved",
  nameFirst: "enter your name",
  nameRule: "a name has letters, digits and {signs}, at most {characters} characters and {bytes} bytes",
  noAnswer: "nothing answers where this page was started; copy the text, and start the page there again",
  noteOutdated: "on an earlier reply, which was asked for again since",
  noteKeys: "Keys of notes: f flags the chosen reply to look at again, g as good, b as bad; c writes a comment, Esc leaves it.",
  noteReadOnly: "New notes cannot be written on this page.",
  onlyHere: "only in this browser. Download them, and add them to the store with “tripos annotate --take FILE”.",
  notKept: "this browser keeps none of them: they are lost when the page is closed. Download them.",
  downloadNotes: "Download notes",
};

export type Word = keyof typeof ENGLISH;

const CHINESE: Record<Word, string> = {
  runs: "运行",
  report: "报告",
  samples: "样本",
  judges: "评审",
  spec: "基准",
  leaderboards: "排行榜",
  compare: "对比",
  history: "历史",
  run: "运行",
  benchmark: "基准",
  model: "模型",
  status: "状态",
  cost: "费用",
  coverage: "覆盖率",
  headline: "主要指标",
  headlineKept: "结束时的主要指标",
  furtherFigures: "项更多数值",
  noRuns: "存储中还没有运行。用 “tripos run SPEC --model MODEL” 创建一个。",
  loading: "加载中……",
  failed: "无法读取",
  value: "数值",
  interval: "95 % 区间",
  items: "题目数",
  scored: "有值的分数",
  rank: "名次",
  group: "分组",
  metric: "指标",
  scenario: "场景",
  evaluator: "评分者",
  language: "语言",
  apartBy: "相差",
  ofItems: "道题",
  scoreMeans: "分数从 0 到 1：一条回复在所示指标上的分数，按该指标的量表折算；有多个评审时取平均值。",
  measure: "度量",
  role: "角色",
  score: "分数",
  reply: "回复",
  prompt: "提示",
  parsed: "从回复中读出的内容",
  item: "题目",
  fields: "题目的字段",
  judgements: "评判",
  scores: "分数",
  dialogue: "对话",
  otherSteps: "关于该题目的其他步骤",
  previous: "上一个",
  next: "下一个",
  of: "/",
  filters: "筛选",
  all: "全部",
  clear: "清除筛选",
  search: "在回复中搜索",
  sort: "排序",
  order: "题目顺序",
  lowest: "分数从低到高",
  highest: "分数从高到低",
  apart: "分歧从大到小",
  costliest: "费用从高到低",
  slowest: "用时从长到短",
  onlyCompared: "只看被测模型的回复",
  openSample: "打开样本",
  copyLink: "复制该样本的链接",
  copied: "已复制",
  showMore: "显示全部",
  characters: "个字符",
  seconds: "秒",
  tokens: "词元",
  notAll: "这里不是计划的全部：本次运行",
  colon: "：",
  stop: "。",
  inWords: "文字说明",
  proves: "本次运行使用了模拟模型：数字只说明流程可用，不说明任何模型的水平。",
  below: "未明显优于基线",
  remarks: "说明",
  gaps: "缺失",
  expectations: "期望",
  held: "满足",
  notHeld: "未满足",
  grid: "各场景各指标的分数（折算到 0–1）",
  gridTab: "并排对照",
  gridRows: "行",
  gridKeys: "按键：j、k 打开下一行或上一行，h、l 选择模型，Enter 打开回复，Esc 关闭该行。地址指明所选的一格。",
  byAxis: "按维度的分数",
  byAxisMeans: "单个指标的分数的平均值，按该指标的量表折算到 0–1。",
  lower: "（越低越好）",
  meaning: "该度量的 SQL",
  agreement: "评分者的一致性",
  exact: "评分相同",
  within: "相差不超过一分",
  correlation: "相关系数",
  difference: "平均差",
  severity: "各评分者在各指标上的平均分（折算到 0–1）",
  preference: "各评分者对各模型的平均分（折算到 0–1）",
  position: "先展示的回复胜出的比例",
  confusion: "类别",
  confusionMeans: "每行是一个正确类别，每列是所说的类别。边框标出正确的一格；深浅表示占该行的比例。",
  isRight: "正确",
  wasSaid: "所说",
  noClass: "无值",
  tooManyClasses: "个类别，太多，无法列表",
  reliability: "概率与实际结果",
  reliabilityMeans: "每个点是一个概率区间：横向是平均概率，纵向是成真的比例。在斜线上时两者相同。",
  bin: "区间",
  meanChance: "平均概率",
  cameTrue: "成真",
  nothingHere: "没有值",
  noJudges: "本次运行没有评分者。",
  differences: "差异从大到小",
  chooseTwo: "选择两个运行或模型进行对比。",
  pairs: "共同的分数",
  paired: "配对差异",
  pValue: "p 值",
  qValue: "q 值",
  onlyOne: "仅一侧有",
  changedBetween: "两次运行之间的改动",
  version: "版本",
  changed: "此处起数字的含义不同",
  unfinishedPoint: "圆环是没有运行完的运行：没有线经过它。",
  axes: "维度",
  arms: "实验条件",
  metrics: "指标",
  scenarios: "场景",
  references: "参考文献",
  roles: "角色",
  steps: "步骤",
  skip: "跳到正文",
  table: "表格",
  tables: "表格",
  copyTable: "复制为",
  leftOut: "本页未包含",
  rows: "行数",
  noData: "没有可显示的内容。",
  noBaseline: "未明显优于",
  verdict: "结论",
  whatItMeans: "该度量的含义",
  measures: "度量",
  specText: "运行时的规范原文",
  noSpecText: "本次运行没有保存规范原文：它由较早的 Tripos 产生，或是导入的。",
  line: "第几行：",
  lines: "行",
  madeOf: "由以下度量组成",
  step: "步骤",
  firstWon: "先展示者胜",
  positionMeans: "在成对比较中，先展示的回复胜出的比例；平局算一半。没有偏向时为 50 %。",
  selfPreference: "对自己回复的偏好（−1 到 1）",
  selfPreferenceMeans: "与其他评审相比，某评审给自己的回复打分高出多少。",
  ownLead: "领先",
  grading: "评分",
  rationale: "理由",
  graded: "已评",
  saved: "已保存",
  unsaved: "未保存：服务没有响应。请用同一命令重新启动，并在新页面上补评最后几项。",
  allGraded: "全部评完。请在启动本页的终端按 Ctrl-C，终端会说明如何导入评分。",
  nextOpen: "下一条未评",
  keys: "快捷键：1–9 打分（0 为 10 分）并跳到下一指标，n 下一条，p 上一条，u 下一条未评，r 理由，Esc 退出输入框，退格键撤销打分。",
  ofPeople: "人的评分（与模型分开）",
  ofJudge: "仅评审模型：区间说的是评审模型，而不是人",
  corrected: "，经人工评分校正",
  itemCounts: "各指标的题目",
  itemText: "文本",
  itemsOneByOne: "逐题查看",
  itemsMean: "量表位置：各模型的平均值，0 到 100 %。区分度：该题与其余题目在各模型间的相关系数；低于 0 时，其他题上更好的模型在该题上反而更差。需要查看的题目排在最前。",
  noItems: "没有题目有带数值的得分。",
  placeOnScale: "量表位置",
  discrimination: "区分度",
  judgesApart: "评审差距",
  lookAt: "需要查看",
  solvedByAll: "所有模型都答对",
  solvedByNone: "没有模型答对",
  judgesSplit: "评审分歧",
  wrongKey: "与其余相反：请检查答案",
  nearly: "与另一题几乎相同",
  notes: "备注",
  again: "待复查",
  good: "好",
  bad: "差",
  comment: "评论",
  flag: "标记",
  yourName: "你的名字",
  asName: "署名",
  save: "保存",
  saving: "正在保存……",
  savedHere: "已保存在此浏览器中",
  notSaved: "未保存",
  nameFirst: "请填写名字",
  nameRule: "名字由字母、数字和 {signs} 组成，最多 {characters} 个字符、{bytes} 个字节",
  noAnswer: "启动本页的服务没有响应；请复制文字，并重新启动本页",
  noteOutdated: "针对较早的回复，此后该回复已重新请求",
  noteKeys: "备注快捷键：f 将所选回复标记为待复查，g 标记为好，b 标记为差；c 写评论，Esc 退出输入框。",
  noteReadOnly: "本页不能写新的备注。",
  onlyHere: "只在此浏览器中。请下载，并用 “tripos annotate --take FILE” 加入存储。",
  notKept: "此浏览器无法保存：关闭本页后会丢失，请下载。",
  downloadNotes: "下载备注",
};

interface Explaining {
  missing: Record<string, string>;
  and: (names: string[]) => string;
  aggregate: (name: string, of: string, across: string | null) => string;
  cells: (inner: string) => string;
  by: (names: string) => string;
  scale: (low: number, high: number) => string;
  noScale: string;
  lower: string;
  higher: string;
  interval: string;
}

const EXPLAINING: Record<string, Explaining> = {
  en: {
    missing: {
      skip: "Scores that are missing are left out; the coverage says how many.", zero: "Scores that are missing count as zero.",
      fail: "If a score is missing, there is no value.", paired: "Items that lack a score under some arm are left out under all of them.",
    },
    and: (names) => names.join(", "),
    aggregate: (name, of, across) => `${name} of ${of}${across ? `, across ${across}` : ""}`,
    cells: (inner) => `cells, each the ${inner}`,
    by: (names) => `, for each ${names}`,
    scale: (low, high) => `Its scale goes from ${low} to ${high}.`,
    noScale: "It has no bounded scale.",
    lower: "A lower value is better.",
    higher: "",
    interval: "Of intervals made in this way, 95 in 100 hold the value over all items of this kind: items are drawn, not scores.",
  },
  zh: {
    missing: {
      skip: "缺失的分数不计入；覆盖率说明有多少。", zero: "缺失的分数按零计。", fail: "只要缺一个分数，就没有数值。", paired: "在某个实验条件下缺分数的题目，在所有条件下都不计入。",
    },
    and: (names) => names.join("、"),
    aggregate: (name, of, across) => `${of} 的${name}${across ? `（跨 ${across}）` : ""}`,
    cells: (inner) => `各单元格（${inner}）`,
    by: (names) => `，按 ${names} 分组`,
    scale: (low, high) => `量表从 ${low} 到 ${high}。`,
    noScale: "没有上下界。",
    lower: "数值越低越好。",
    higher: "",
    interval: "这样得到的区间，100 个中有 95 个包含全部同类题目上的数值；抽样单位是题目，不是分数。",
  },
};

/** Return how a measure is explained in the reader's language. */
export function explaining(): Explaining {
  return EXPLAINING[language]!;
}

const LANGUAGES: Record<string, Record<Word, string>> = { en: ENGLISH, zh: CHINESE };

/** The language that the reader chose, in the address or by `--language`. */
const asked = new URLSearchParams(location.search).get("lang") ?? document.documentElement.dataset["lang"];

/** The language of the words of the page. Beside titles in a language that it has no words in, they are English. */
function ofWords(): string {
  const known = (asked ? [asked] : navigator.languages).map((each) => each.slice(0, 2).toLowerCase());
  return known.find((each) => each in LANGUAGES) ?? "en";
}

export const language = ofWords();
/** The language of titles: the one that was chosen, else that of the words. */
export const titleLanguage = asked && !(asked.slice(0, 2).toLowerCase() in LANGUAGES) ? asked : language;
document.documentElement.lang = language;

/** Return a word in the reader's language. */
export function t(word: Word): string {
  return LANGUAGES[language]![word];
}

/** Return a text with its holes filled. */
export function filled(word: Word, holes: Record<string, string>): string {
  return t(word).replace(/\{(\w+)\}/g, (_, name: string) => holes[name] ?? "");
}

const told = new Map<string, string>();

/** Take up what sentences of a file are in the reader's language. */
export function learn(said: Record<string, Record<string, string>> | undefined) {
  for (const [text, other] of Object.entries(said?.[language] ?? {})) told.set(text, other);
}

/** Return a sentence of a file in the reader's language. */
export function sentence(text: string): string {
  return told.get(text) ?? text;
}

/** Return a word within a line: after a number, or between others. */
export function within(word: Word): string {
  return t(word).toLowerCase();
}

/** Return the heading of a column of data: a word of the page where it has one, else the name. */
export function heading(name: string): string {
  const found = HEADINGS.find((each) => each === name);
  return found ? t(found) : name;
}

const HEADINGS: Word[] = ["scenario", "model", "metric", "evaluator", "status", "step", "role", "language", "measure"];

/** Return a title in the reader's language, else in the first language of the benchmark that has one, else the name. */
export function title(titles: Record<string, string> | undefined, name: string, languages: string[]): string {
  for (const each of [titleLanguage, ...languages]) if (titles?.[each]) return titles[each]!;
  return Object.values(titles ?? {})[0] ?? name;
}

/** Return the title of a scenario, measure, axis or the like in the reader's language, or what it is called without. */
export function titled(about: { titles?: Record<string, Record<string, Record<string, string>>>; languages: string[] }, kind: string, name: string, without: string): string {
  return title(about.titles?.[kind]?.[name], without, about.languages);
}

/** Return what a row of a comparison is of, and what more is said of it: names as they are unless a language was chosen. */
export function compared(row: { name: string; of: string; names?: Record<string, string>; labels?: Record<string, string> }): [string, string] {
  return [(asked && row.names?.[titleLanguage]) || row.name, row.labels?.[titleLanguage] ?? sentence(row.of)];
}

const plain = new Intl.NumberFormat(language);
export const count = (value: number) => plain.format(value);
export { percent };
export const money = (amount: number | null | undefined) => (amount === null || amount === undefined ? "—" : amount === 0 ? "$0" : `$${usd(amount)}`);
export const when = (iso: string | null | undefined) =>
  iso ? new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso)) : "—";

/** Return a figure with as many decimals as its scale wants: three on a scale of 1 or less, else two. */
export function figure(value: number | null | undefined, narrow: boolean): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "—";
  const text = fixed(value, narrow ? 3 : 2);
  // A small difference below zero is written without its sign, which would say nothing.
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** Return an interval, such as `[0.75, 0.88]`. */
export function between(low: number | null | undefined, high: number | null | undefined, narrow: boolean): string {
  return low === null || low === undefined ? "—" : `[${figure(low, narrow)}, ${figure(high, narrow)}]`;
}
