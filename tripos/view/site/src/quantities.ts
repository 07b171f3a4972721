/** Shares, money and figures as text, by the rules of the terminal (`quantities.py`): `tests/view` compares the two. */

const MORE = 25;

/** Return a number with so many decimals; one midway between two goes to the even one, as in Python. */
export function fixed(value: number, digits: number): string {
  const rounded = value.toFixed(digits);
  const long = value.toFixed(digits + MORE);
  if (!/^50*$/.test(long.slice(-MORE))) return rounded;
  const cut = digits ? long.slice(0, -MORE) : long.slice(0, -MORE - 1);
  return "02468".includes(cut.at(-1)!) ? cut : rounded;
}

/** Return a share with a tenth of a per cent. It is never rounded to all or to nothing, as long as it is neither. */
export function percent(share: number): string {
  const shown = share === 0 || share === 1 ? share : Math.min(Math.max(Number(fixed(share, 3)), 0.001), 0.999);
  return `${(shown * 100).toFixed(1)}%`.replace(".0%", "%");
}

/** Return an amount of USD: two decimals, four below a tenth, and more where the first two figures need them. */
export function usd(amount: number): string {
  const digits = amount > 0 && amount < 0.1 ? Math.max(4, 1 - Math.floor(Math.log10(amount))) : 2;
  return fixed(amount, digits).replace(/\B(?=(\d{3})+\.)/g, ",");
}

/** The axis of a picture: its ends are multiples of the step. */
export interface Scale {
  from: number;
  to: number;
  step: number;
}

/** Return an axis for some values: 0 to 1 if all are in it, else round ends around them, with 0 if it is near. */
export function scaleOf(values: number[]): Scale {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (values.length === 0 || (least >= 0 && most <= 1)) return { from: 0, to: 1, step: 0.25 };
  const low = least > 0 && least < most * 0.6 ? 0 : least;
  const high = most < 0 && most > least * 0.6 ? 0 : most;
  const range = high - low || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(range / 3));
  const step = power * [1, 2, 5, 10].find((each) => each * power * 5 >= range)!;
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
  return { from: first * step, to: (last > first ? last : first + 1) * step, step };
}
