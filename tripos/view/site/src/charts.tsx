/** Pictures as SVG, each with a text that says the same. */
import { fixed, type Scale } from "./quantities";
import { visible } from "./ui";
import { between, figure } from "./words";

const CELL = 54;

/** A value with its interval, a point and a line, on an axis with a tick for each step. */
export function Interval({ value, low, high, scale, narrow }: {
  value: number | null; low: number | null; high: number | null; scale: Scale; narrow: boolean;
}) {
  if (value === null) return <span class="nothing">—</span>;
  const { from, to, step } = scale;
  const x = (each: number) => `${(Math.min(Math.max((each - from) / (to - from), 0), 1) * 98 + 1).toFixed(2)}%`;
  const text = low === null || high === null ? figure(value, narrow) : `${figure(value, narrow)} ${between(low, high, narrow)}`;
  const steps = Array.from({ length: Math.round((to - from) / step) + 1 }, (_, place) => from + place * step);
  return (
    <span class="interval">
      <svg width="100%" height="18" role="img" aria-label={text}>
        <line class="axis" x1={x(from)} x2={x(to)} y1="9" y2="9" />
        {steps.map((each) => <line class="axis" key={each} x1={x(each)} x2={x(each)} y1="5" y2="13" />)}
        {low !== null && high !== null && <line class="whisker" x1={x(low)} x2={x(high)} y1="9" y2="9" />}
        <circle class="dot" cx={x(value)} cy="9" r="4" />
      </svg>
      <Ends scale={scale} />
    </span>
  );
}

/** The labels of an axis: above all rows of a table, and below each axis where rows are cards. */
export function Ends({ scale }: { scale: Scale }) {
  const places = Math.max(0, -Math.floor(Math.log10(scale.step) + 1e-9));
  const end = (value: number) => fixed(value, Number.isInteger(scale.from) && Number.isInteger(scale.to) ? 0 : places).replace("-", "−");
  return <span class="ends" aria-hidden="true"><span>{end(scale.from)}</span><span>{end(scale.to)}</span></span>;
}

const SHADES = 7;

/** The shade of a score from 0 to 1. */
export function shadeOf(score: number): string {
  return `s${Math.min(SHADES - 1, Math.max(0, Math.floor(score * SHADES)))}`;
}

/** Scores that differ by less than this in all are one shade: a picture of noise would say more than they do. */
const LEAST_RANGE = 0.05;
/** As many columns have room on a phone; of more, each row is a card. */
const FEW = 3;

/** A heat map as a table: readable without its colours, which go from the lowest of its scores to the highest. */
export function HeatMap({ rows, columns, value, row, column, label, onPick, mark }: {
  rows: string[];
  columns: string[];
  value: (row: string, column: string) => { score: number | null; n: number } | undefined;
  row: (name: string) => string;
  column: (name: string) => string;
  label: string;
  onPick?: (row: string, column: string) => string;
  mark?: (row: string, column: string) => boolean;
}) {
  const all = rows.flatMap((each) => columns.map((other) => value(each, other)?.score)).filter((each): each is number => each !== null && each !== undefined);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const range = Math.max(most - least, LEAST_RANGE);
  const from = (least + most - range) / 2;
  const shade = (score: number) => `shade ${shadeOf((score - from) / range)}`;
  return (
    <>
      <table class={`heat ${columns.length > FEW ? "wide" : ""}`} role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            <td role="cell" />
            {columns.map((each) => <th role="columnheader" scope="col" key={each} title={column(each)}><span>{column(each)}</span></th>)}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((each) => (
            <tr role="row" key={each}>
              <th role="rowheader" scope="row">{row(each)}</th>
              {columns.map((other) => {
                const found = value(each, other);
                const score = found?.score ?? null;
                const text = score === null ? "" : fixed(score, 2);
                return (
                  <td role="cell" key={other} data-label={column(other)} class={`${score === null ? "none" : shade(score)} ${mark?.(each, other) ? "marked" : ""}`} title={found ? `n = ${found.n}` : undefined}>
                    {text && onPick ? <a href={onPick(each, other)}>{text}</a> : text}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {all.length > 1 && (
        <p class="scale small" aria-hidden="true">
          {fixed(Math.max(0, from), 2)}
          {Array.from({ length: SHADES }, (_, place) => <span key={place} class={`swatch s${place}`} />)}
          {fixed(Math.min(1, from + range), 2)}
        </p>
      )}
    </>
  );
}

/** Lines over runs, one a model, broken before the runs at which its figure changed its meaning. A point without a
 * segment is of a run that did not come to its end: no line goes through it. */
export function Lines({ points, breaks, label, narrow }: {
  points: { x: number; series: string; segment: number | null; value: number; low: number | null; high: number | null; title: string; day: string }[];
  breaks: number[];
  label: string;
  narrow: boolean;
}) {
  const width = Math.max(320, 90 + (Math.max(0, ...points.map((each) => each.x)) + 1) * CELL);
  const all = points.flatMap((each) => [each.value, each.low ?? each.value, each.high ?? each.value]);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const y = (value: number) => 150 - (most > least ? ((value - least) / (most - least)) * 130 : 65);
  const x = (place: number) => 70 + place * CELL;
  const series = [...new Set(points.map((each) => each.series))];
  return (
    <>
      <ul class="legend">
        {series.map((name, place) => <li key={name} class={`c${place % 8}`}><bdi>{visible(name)}</bdi></li>)}
      </ul>
    <svg class="lines" width={width} height="190" role="img" aria-label={label}>
      {(most > least ? [least, (least + most) / 2, most] : [least]).map((value) => (
        <g key={value} class="tick">
          <line x1="58" x2={width} y1={y(value)} y2={y(value)} />
          <text x="52" y={y(value) + 4} text-anchor="end">{figure(value, narrow)}</text>
        </g>
      ))}
      {[...new Map(points.map((each) => [each.x, each.day]))].map(([place, day]) => (
        <text key={place} class="day" x={x(place)} y="180" text-anchor="middle">{day}</text>
      ))}
      {breaks.map((place) => (
        <line key={place} class="break" x1={x(place) - CELL / 2} x2={x(place) - CELL / 2} y1="8" y2="162" />
      ))}
      {series.map((name, place) => {
        const mine = points.filter((each) => each.series === name);
        const drawn = mine.filter((each) => each.segment !== null);
        const path = drawn.map((each, at) => `${at === 0 || each.segment !== drawn[at - 1]!.segment ? "M" : "L"}${x(each.x)} ${y(each.value)}`).join("");
        return (
          <g class={`series c${place % 8}`} key={name}>
            <path d={path} fill="none" />
            {mine.map((each) => (
              <g key={each.x}>
                {each.low !== null && each.high !== null && (
                  <line x1={x(each.x)} x2={x(each.x)} y1={y(each.low)} y2={y(each.high)} />
                )}
                <circle cx={x(each.x)} cy={y(each.value)} r="4" class={each.segment === null ? "apart" : undefined}>
                  <title>{`${name}: ${figure(each.value, narrow)} · ${each.title}`}</title>
                </circle>
              </g>
            ))}
          </g>
        );
      })}
    </svg>
    </>
  );
}
