// Shows one reply at a time and sends every grade as it is given. Texts go into the page as text nodes only.
"use strict";

const at = (id) => document.getElementById(id);
let data, words, place = 0;
const waiting = new Map();

function made(name, attributes = {}, ...inner) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...inner);
  return element;
}

const isDone = (item) => item.scales.every((scale) => scale.metric in item.grades);

function say(text, bad = false) {
  at("state").textContent = text;
  at("state").classList.toggle("bad", bad);
}

async function send(what) {
  const response = await fetch("grade", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(what),
    keepalive: true,
  });
  if (!response.ok) throw new Error(response.status);
}

// What could not be sent waits for the next try; of two about one cell the later counts.
let sending = Promise.resolve();
function save(what) {
  waiting.set(`${what.row} ${what.metric ?? ""}`, what);
  flush();
  count();
}

function flush() {
  sending = sending.then(async () => {
    for (const [key, one] of [...waiting]) {
      try {
        await send(one);
        if (waiting.get(key) === one) waiting.delete(key);
      } catch {
        say(words.unsaved, true);
        return;
      }
    }
    if (!waiting.size) say(words.saved);
  });
}
setInterval(() => { if (waiting.size) flush(); }, 3000);

function count() {
  const done = data.items.filter(isDone).length;
  at("progress").max = data.items.length;
  at("progress").value = done;
  at("count").textContent = `${done} ${words.of} ${data.items.length} ${words.graded}`;
  at("next-open").disabled = done === data.items.length;
  const all = done === data.items.length;
  at("keys").textContent = all ? words.done : words.keys;
  at("keys").classList.toggle("done", all);
}

function grade(item, scale, value) {
  if (value === null) delete item.grades[scale.metric];
  else item.grades[scale.metric] = value;
  mark(item, scale);
  save({ row: item.row, metric: scale.metric, value });
}

function clear(item, scale) {
  document.querySelectorAll("fieldset[data-metric] input").forEach((input) => {
    if (input.closest("fieldset").dataset.metric !== scale.metric) return;
    if (input.type === "radio") input.checked = false;
    else input.value = "";
  });
  if (scale.metric in item.grades) grade(item, scale, null);
}

function mark(item, scale) {
  const set = document.querySelector(`fieldset[data-metric="${CSS.escape(scale.metric)}"]`);
  const value = item.grades[scale.metric];
  set.classList.toggle("given", value !== undefined);
  set.querySelectorAll("li").forEach((line, index) => {
    const [low, high] = scale.levels[index];
    line.classList.toggle("here", value !== undefined && low <= value && value <= high);
  });
}

function choices(item, scale, index) {
  const group = made("div", { class: "values" });
  for (const value of scale.values) {
    const input = made("input", { type: "radio", name: `m${index}`, value });
    input.checked = item.grades[scale.metric] === value;
    input.addEventListener("click", () => {
      if (item.grades[scale.metric] === value) clear(item, scale);
    });
    input.addEventListener("change", () => grade(item, scale, value));
    group.append(made("label", {}, input, made("span", {}, String(value))));
  }
  return group;
}

function number(item, scale, index) {
  const input = made("input", {
    type: "number", id: `m${index}`, min: scale.low, max: scale.high, step: scale.whole ? 1 : "any",
    "aria-label": scale.title,
  });
  input.value = item.grades[scale.metric] ?? "";
  input.addEventListener("change", () => {
    if (!input.checkValidity()) return input.reportValidity();
    grade(item, scale, input.value === "" ? null : Number(input.value));
  });
  return input;
}

function levels(scale) {
  const list = made("ul", { class: "levels" });
  for (const [low, high, text] of scale.levels) {
    list.append(made("li", {}, made("b", {}, low === high ? String(low) : `${low}–${high}`), made("span", {}, text)));
  }
  return list;
}

function show(next, focus = true) {
  place = Math.max(0, Math.min(data.items.length - 1, next));
  const item = data.items[place];
  words = data.words[item.language];
  document.documentElement.lang = item.language;
  at("place").textContent = `${place + 1} ${words.of} ${data.items.length}`;
  at("scenario").textContent = item.title;
  at("texts").replaceChildren(...item.texts.map(([label, text]) =>
    made("article", {}, made("h2", {}, label), made("div", { class: "text" }, text))));
  const sets = item.scales.map((scale, index) => {
    const title = scale.title === scale.metric ? scale.title : `${scale.title} (${scale.metric})`;
    return made("fieldset", { "data-metric": scale.metric },
      made("legend", {}, title),
      ...(scale.asks ? [made("p", { class: "asks" }, scale.asks)] : []),
      scale.values.length ? choices(item, scale, index) : number(item, scale, index),
      levels(scale));
  });
  const area = made("textarea", { id: "rationale", rows: 4, maxlength: 20000 });
  area.value = item.rationale;
  area.addEventListener("input", () => {
    item.rationale = area.value;
    clearTimeout(area.timer);
    area.timer = setTimeout(() => keepText(item, area), 400);
  });
  area.addEventListener("blur", () => keepText(item, area));
  at("grades").replaceChildren(...sets,
    made("fieldset", {}, made("legend", {}, made("label", { for: "rationale" }, words.rationale)), area));
  item.scales.forEach((scale) => mark(item, scale));
  for (const [id, word] of [["previous", "previous"], ["next-open", "next_open"], ["next", "next"]]) {
    at(id).textContent = words[word];
  }
  at("previous").disabled = place === 0;
  at("next").disabled = place === data.items.length - 1;
  at("texts").scrollTop = 0;
  window.scrollTo(0, 0);
  if (!waiting.size) say("");
  count();
  if (focus) at("texts").focus({ preventScroll: true });
}

const kept = new Map();
function keepText(item, area) {
  clearTimeout(area.timer);
  if ((kept.get(item.row) ?? item.first) === item.rationale) return;
  kept.set(item.row, item.rationale);
  save({ row: item.row, rationale: item.rationale });
}

function leave(next) {
  if (document.activeElement?.id === "rationale") document.activeElement.blur();
  show(next);
}

function nextOpen() {
  for (let step = 1; step <= data.items.length; step++) {
    const index = (place + step) % data.items.length;
    if (!isDone(data.items[index])) return leave(index);
  }
}

// The metric that a digit is for: the one in focus, or else the first without a grade, or the first.
function current(item) {
  const focused = document.activeElement?.closest("fieldset[data-metric]");
  const index = item.scales.findIndex((scale) => scale.metric === focused?.dataset.metric);
  if (index >= 0) return index;
  return Math.max(0, item.scales.findIndex((scale) => !(scale.metric in item.grades)));
}

function digit(key) {
  const item = data.items[place];
  const index = current(item);
  const scale = item.scales[index];
  let value = Number(key);
  if (!scale.values.includes(value) && value === 0) value = 10;
  if (!scale.values.includes(value)) return false;
  const set = document.querySelectorAll("fieldset[data-metric]");
  const input = set[index].querySelector(`input[value="${value}"]`);
  input.checked = true;
  grade(item, scale, value);
  const next = set[index + 1]?.querySelector("input:checked, input");
  (next ?? input).focus();
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !data) return;
  const typing = event.target.matches("textarea, input[type=number]");
  if (event.key === "Escape" && typing) return event.target.blur();
  if (typing) return;
  const does = {
    n: () => leave(place + 1),
    p: () => leave(place - 1),
    u: nextOpen,
    r: () => at("rationale").focus(),
    Backspace: () => clear(data.items[place], data.items[place].scales[current(data.items[place])]),
  }[event.key];
  if (does) does();
  else if (!/^[0-9]$/.test(event.key) || !digit(event.key)) return;
  event.preventDefault();
});

at("previous").addEventListener("click", () => leave(place - 1));
at("next").addEventListener("click", () => leave(place + 1));
at("next-open").addEventListener("click", nextOpen);
at("grades").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("pagehide", () => document.activeElement?.blur());
window.addEventListener("beforeunload", (event) => { if (waiting.size) event.preventDefault(); });

fetch("items.json").then((response) => response.json()).then((found) => {
  data = found;
  for (const item of data.items) item.first = item.rationale;
  const open = data.items.findIndex((item) => !isDone(item));
  show(Math.max(0, open), false);
});
