/** The files of a view, as docs/how-to/read-the-report.md describes them. */
import type { Row, TableFile } from "./data";

export interface Headline {
  measure: string;
  model: string;
  value: number | null;
  low: number | null;
  high: number | null;
  n: number;
  total: number;
}

export interface ListedRun {
  run_id: string;
  benchmark: string;
  version: string;
  title: string;
  titles: Record<string, string>;
  languages: string[];
  models: string[];
  roles: Record<string, string[]>;
  samples: number;
  scores: number;
  scored_share: number | null;
  items: number;
  status: string;
  /** Whether it stopped before its last item, since it was settled. */
  stopped_early: boolean;
  started_at: string;
  finished_at: string | null;
  cost_usd: number | null;
  headline: Headline[];
}

export interface Index {
  format: string;
  state: string;
  runs: ListedRun[];
  benchmarks: string[];
  /** True of a page with notes of people on replies. */
  notes: boolean;
  left_out?: string[];
}

export interface MeasureRow {
  measure: string;
  model: string | null;
  value: number | null;
  standard_error: number | null;
  low: number | null;
  high: number | null;
  items: number;
  n: number;
  total: number;
  coverage: number | null;
  method: string | null;
  reason: string | null;
  [dimension: string]: unknown;
}

export interface Measure {
  name: string;
  by: string[];
  lower_is_better: boolean;
  sql: string;
  rows: MeasureRow[] | null;
  error: string | null;
  reason?: string;
  /** Whether people correct it: then `rows` are of people, and `judge` of the judge alone. */
  corrected?: boolean;
  judge?: MeasureRow[];
  /** The values by people, where their scores are apart from those of models. */
  people?: MeasureRow[];
}

export interface Labelled {
  name: string;
  labels: Record<string, string>;
}

export interface Titled {
  /** Texts a language by kind and name: of the benchmark, axes, arms, dimensions, scenarios and measures. */
  titles: Record<string, Record<string, Record<string, string>>>;
  languages: string[];
}

export interface About extends Titled {
  name: string;
  version: string;
  title: string;
  license: string | null;
  cites: string[];
  headline: string[];
  /** The measures of which a lower value is better. */
  lower_is_better: string[];
  roles: { name: string; kind: string }[];
  /** The names of the tables that the benchmark declares. */
  tables: string[];
  axes: { name: string; values: Labelled[] }[];
  arms: { name: string; values: Labelled[] }[];
  metrics: {
    name: string;
    title: Record<string, string>;
    dimension: string;
    low: number;
    high: number;
    asks: Record<string, string>;
    levels: { low: number; high: number; text: Record<string, string> }[];
  }[];
  scenarios: { name: string; title: string; axes: string[]; arms: string[]; rows: number; steps: { name: string; kind: string; role: string | null }[] }[];
  scorers: { name: string; role: string; blind: boolean }[];
}

export interface Standing {
  model: string;
  /** Null until ranks are there. */
  rank: number | null;
  tied: boolean;
  letters: string;
  value: number;
  low: number | null;
  high: number | null;
  items: number | null;
  n: number;
  total: number;
  coverage: number | null;
  runs: string[];
}

export interface Board {
  benchmark: string;
  version: string;
  measure: string;
  lower_is_better: boolean;
  models: Standing[];
  same_items: boolean;
  left_out: Record<string, string[]>;
  partial: Record<string, string>;
  /** What the differences of the models show, in words; not there before ranks are. */
  verdict?: string[];
  notes: string[];
  people?: { evaluators: string[]; models: Pick<Standing, "model" | "value" | "low" | "high" | "items" | "n">[] };
}

export interface Cell {
  scenario: string | null;
  metric: string;
  model: string;
  score: number | null;
  n: number;
}

export interface AxisCell {
  axis: string;
  value: string;
  metric: string;
  model: string;
  score: number | null;
  n: number;
}

/** What every page of a run needs; the figures of its report come later. */
export interface RunAbout {
  run: { run_id: string; models: string[]; roles: Record<string, string[]> };
  state: string;
  about: About;
  /** Those that have scores; the first is the one that stands for a reply. */
  metrics: string[];
  evaluators: string[];
  /** What was asked of whom, and who graded. */
  opening: string[];
}

export interface Boards {
  state: string;
  boards: Board[];
}

export interface Report {
  format: string;
  run: {
    run_id: string;
    benchmark: string;
    version: string;
    headline: string[];
    models: string[];
    roles: Record<string, string[]>;
    status: string;
    started_at: string;
    finished_at: string | null;
    cost_usd: number | null;
    items: number;
    withheld: number;
    only: Record<string, string[]>;
  };
  samples: Record<string, number>;
  scores: Record<string, number>;
  people_apart?: string[];
  measures: Measure[];
  gaps: Record<string, unknown>[];
  remarks: Record<string, unknown>[];
  only_proves_the_pipeline: boolean;
  no_better_than_a_baseline: Record<string, unknown>[];
  expectations: Expectation[];
  state: string;
  grid: Cell[];
  axes: AxisCell[];
}

export interface Expectation {
  expect: string;
  held: boolean;
  by: string[];
  outcomes: ({ model: string; held: boolean; value: number | null; low: number | null; high: number | null; reason: string | null } & Record<string, unknown>)[];
}

export interface Tables {
  tables: Record<"samples" | "texts" | "marks" | "scores" | "judgements" | "turns" | "comparisons" | "items", TableFile>;
  dimensions: string[];
}

/** What the list of replies shows before it has read the table of all. */
export interface First {
  dimensions: string[];
  /** How many replies there are, and how many by the models that are compared. */
  rows: number;
  compared: number;
  /** The replies that come first, as in the table, each with the beginning of its text. */
  samples: Row[];
  values: Record<string, string[]>;
}

export interface Judges {
  agreement: Record<string, number | string | null>[];
  severity: { evaluator: string; metric: string; score: number | null; n: number }[];
  preference: { evaluator: string; metric: string; model: string; score: number | null; n: number }[];
  position: { evaluator: string; scenario: string; step: string; share: number | null; n: number }[];
}

/** How often a model said each class where each is right; the last count of a line is of no class at all. */
export interface Confusion {
  measure: string;
  model: string;
  classes: string[];
  counts: number[][];
  items: number[];
  remark: string | null;
}

/** For each bin of probabilities its ends, how many there are, their mean, and the share that came true. */
export interface Reliability {
  measure: string;
  model: string;
  bins: { low: number; high: number; n: number; mean: number; share: number }[];
}

export interface Behind {
  confusion: Confusion[];
  reliability: Reliability[];
}

export interface ResultCell {
  shown: string;
  interval?: string;
  /** 1 for the best value, 2 for the second best. */
  rank?: number;
  /** True if it differs significantly from what the notes name. */
  differs?: boolean;
  /** Why it has no value. */
  reason?: string;
}

/** A table that a benchmark declares, as a paper prints it. */
export interface ResultTable {
  name: string;
  caption: string;
  columns: { heading: string; group: string | null; is_text: boolean }[];
  rows: ResultCell[][];
  /** Sentences before a row. */
  separators: [number, string[]][];
  notes: string[];
  /** The table in other formats. */
  copies: { latex?: string; csv?: string; md?: string };
}

export interface ResultTables {
  state: string;
  tables: ResultTable[];
  /** The same tables with the titles of each language. */
  titled: Record<string, ResultTable[]>;
}

export interface AnalysedItem {
  scenario: string;
  metric: string;
  item_id: string;
  models: number;
  share: number | null;
  discrimination: number | null;
  low: number | null;
  high: number | null;
  solved_by: string | null;
  apart: number | null;
  split: boolean;
  wrong_key: boolean;
  near: string | null;
  text: string | null;
  /** Its id in the file of its data set, if it has one. */
  given_id: string | null;
}

export interface AnalysedItems {
  items: AnalysedItem[];
  item_counts: { metric: string; items: number; every_model: number; no_model: number; split: number; wrong_key: number; near: number }[];
}

/** A figure, as the plan has it. */
export type Figure =
  | { op: "aggregate"; function: string; values?: string[]; scenario?: string | null; named?: Record<string, unknown>; across?: string | null; by?: string[]; of?: Figure | null }
  | { op: "measure"; measure: string; slice?: Record<string, string> }
  | { op: "formula"; operator: string; values: Figure[] }
  | { op: "constant"; value: number };

export interface PlannedMeasure {
  name: string;
  by: string[];
  low: number | null;
  high: number | null;
  missing?: string;
  lower_is_better?: boolean;
  figure: Figure;
}

/** What the aggregates of the figures are called, by their name and the language. */
export type Labels = Record<string, Record<string, string>>;

export interface SpecFile {
  files: { path: string; text: string }[];
  missing: string[];
  places: { kind: string; name: string; path: string; from: number; to: number }[];
  measures: PlannedMeasure[];
  labels?: Labels;
}

export interface ComparedRow {
  name: string;
  of: string;
  /** The title of what is compared, a language. */
  names: Record<string, string>;
  /** The text of `of`, a language; empty where it is a sentence of Tripos or a name. */
  labels: Record<string, string>;
  a: number;
  b: number;
  difference: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  q: number | null;
  method: string | null;
  lower_is_better: boolean;
  verdict: string;
}

export interface Comparison {
  a: { run_id: string; models: string[] };
  b: { run_id: string; models: string[] };
  changes: string[];
  pairs: number;
  items: number;
  only_a: number;
  only_b: number;
  sections: { kind: string; rows: ComparedRow[] }[];
  unpaired: { name: string; reason: string }[];
  cautions: string[];
  error?: { code: string; message: string; hint: string | null };
}

/** A value of a run. Values with one `segment` mean the same; one of a run that did not come to its end has none. */
export interface HistoryPoint {
  run_id: string;
  started_at: string;
  version: string;
  release: string | null;
  status: string;
  value: number | null;
  low: number | null;
  high: number | null;
  segment: number | null;
  broken_by: { text: string }[];
}

/** A measure over the runs of a store: a line for each model, broken where its meaning changed. */
export interface MeasureHistory {
  measure: string;
  lower_is_better: boolean;
  lines: { model: string; by: (string | null)[]; points: HistoryPoint[] }[];
}

export interface BenchmarkFile extends Titled {
  boards: Board[];
  history: MeasureHistory[];
}
