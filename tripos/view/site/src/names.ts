/** Statuses, kinds of roles and kinds of steps in Chinese; in English they are what the data call them. */
import { language } from "./words";

const CHINESE: Record<string, string> = {
  // runs
  finished: "已完成", interrupted: "已中断", stopped: "已停止", failed: "失败", unfinished: "未完成",
  // replies and scores
  ok: "正常", scored: "已评分", refused: "被拒绝", truncated: "被截断", parse_failure: "无法读取", provider_error: "提供方出错",
  function_error: "函数出错", undefined: "没有定义", not_applicable: "不适用", not_given: "未给出", pending: "等待中", made: "已生成",
  rejected: "被拒收",
  // roles
  single: "单个模型", compared: "被测模型", panel: "评审组",
  // steps
  ask: "提问", converse: "对话", retrieve: "检索", grade: "评分", compare: "比较", score: "计算分数", verdict: "裁决", column: "取值",
};

/** Return what a status or a kind is called in the reader's language. */
export function named(name: string): string {
  return (language === "zh" ? CHINESE[name] : undefined) ?? name.replaceAll("_", " ");
}
