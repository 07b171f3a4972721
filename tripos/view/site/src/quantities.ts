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
