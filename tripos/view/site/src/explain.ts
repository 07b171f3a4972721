/** The meaning of a measure in words. */
import type { Figure, Labels, PlannedMeasure } from "./contract";
import { explaining, language } from "./words";

/** Return what a figure is: of which scores, over what, and made of which others. */
export function explained(figure: Figure, labels: Labels): string {
  const say = explaining();
  const inner = (each: Figure): string => explained(each, labels);
  switch (figure.op) {
    case "constant":
      return String(figure.value);
    case "measure": {
      const slice = Object.entries(figure.slice ?? {}).map(([name, value]) => `${name} = ${value}`);
      return slice.length ? `${figure.measure} [${slice.join(", ")}]` : figure.measure;
    }
    case "formula": {
      const values = figure.values.map((each) => (each.op === "formula" ? `(${inner(each)})` : inner(each)));
      if (figure.operator === "negate") return `−${values[0]}`;
      if (values.length === 2 && "+-*/".includes(figure.operator)) return `${values[0]} ${{ "+": "+", "-": "−", "*": "×", "/": "÷" }[figure.operator]} ${values[1]}`;
      return `${figure.operator}(${values.join(", ")})`;
    }
    case "aggregate": {
      const name = labels[figure.function]?.[language] ?? figure.function;
      const of = figure.of ? say.cells(inner(figure.of)) : say.and((figure.values ?? []).map((each) => (figure.scenario ? `${figure.scenario}.${each}` : each)));
      const named = Object.entries(figure.named ?? {}).map(([key, value]) => `${key}: ${value}`).join(", ");
      const by = figure.by?.length ? say.by(say.and(figure.by)) : "";
      return say.aggregate(named ? `${name} (${named})` : name, of, figure.across ?? null) + by;
    }
  }
  return ""; // a figure of a newer Tripos
}

/** Return what else is to be known of a measure to read its figure. */
export function facts(measure: PlannedMeasure): string[] {
  const say = explaining();
  return [
    measure.low !== null && measure.high !== null ? say.scale(measure.low, measure.high) : say.noScale,
    measure.lower_is_better ? say.lower : say.higher,
    say.missing[measure.missing ?? "skip"] ?? "",
    say.interval,
  ].filter(Boolean);
}

/** Return the other measures that a figure is made of. */
export function madeOf(figure: Figure): string[] {
  if (figure.op === "measure") return [figure.measure];
  if (figure.op === "formula") return [...new Set(figure.values.flatMap(madeOf))];
  return figure.op === "aggregate" && figure.of ? madeOf(figure.of) : [];
}
