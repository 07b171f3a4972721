/** What a person grades, and the sending of every grade as it is given. */
import { json } from "./data";

export interface Scale {
  metric: string;
  title: string;
  asks: string;
  low: number | null;
  high: number | null;
  whole: boolean;
  values: number[];
  levels: [number, number, string][];
  /** Where names are chosen from: each value is the place of one of them, from 1. */
  names: string[];
}

export interface Item {
  row: string;
  language: string;
  /** The language of its title, of the headings of its texts, and of its criteria. */
  headings: string;
  title: string;
  texts: [string, string][];
  scales: Scale[];
  grades: Record<string, number>;
  rationale: string;
}

export type Sent = { row: string; metric: string; value: number | null } | { row: string; rationale: string };

const AGAIN = 3000;

export const loadItems = async (): Promise<Item[]> => (await json<{ items: Item[] }>("grading.json")).items;

export const isDone = (item: Item) => item.scales.every((scale) => scale.metric in item.grades);

/** Sends one after another. What could not be sent waits for the next try; of two about one cell the later counts. */
export class Sender {
  private waiting = new Map<string, Sent>();
  private sending = Promise.resolve();
  private timer = setInterval(() => this.waiting.size && this.flush(), AGAIN);

  constructor(private tell: (state: "" | "saved" | "unsaved") => void) {}

  get idle(): boolean {
    return this.waiting.size === 0;
  }

  send(what: Sent) {
    this.waiting.set(`${what.row} ${"metric" in what ? what.metric : ""}`, what);
    this.tell(""); // "saved" is said of all that was given
    this.flush();
  }

  stop() {
    clearInterval(this.timer);
  }

  private flush() {
    this.sending = this.sending.then(async () => {
      for (const [key, one] of [...this.waiting]) {
        try {
          const answer = await fetch("grade", {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify(one),
            keepalive: true,
          });
          if (!answer.ok) throw new Error(String(answer.status));
          if (this.waiting.get(key) === one) this.waiting.delete(key);
        } catch {
          this.tell("unsaved");
          return;
        }
      }
      if (this.idle) this.tell("saved");
    });
  }
}
