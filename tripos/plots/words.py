"""The words of pictures, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

ENGLISH = {
    "model": "model",
    "scenario": "scenario",
    "metric": "metric",
    "interval": "lines: intervals of 95 %",
    "letters": "models that share a letter are not distinguished (Holm, 5 %)",
    "n": "n = {n} scores of {items} items; coverage {coverage}",
    "share": "place on the scale",
    "share_note": "0 is the lowest mark of a scale and 1 the highest; n = {n} scores a cell",
    "radar_note": "from the lowest mark of the scale in the middle to the highest at the rim",
    "gain_note": "against {against}",
    "human": "grade by {human}",
    "judge": "grade by {judge}",
    "judges_title": "{judges} against {human}",
    "judged": "{n} scores; the same {exact}, at most one apart {within}, r = {r}",
    "judges_note": "the area of a disc is the number of scores; on the line, both gave the same",
    "calibration_title": "calibration of {judges} by {human}",
    "calibration_note": "on the dashed line people gave on average what the judge gave",
    "people_mean": "mean grade by people",
    "scores": "scores",
    "items": "items",
    "power": "power",
    "difference": "true difference",
    "power_note": "{a} and {b}, same {items} items: standard error of their difference in {measure}: {error}",
    "bound_note": "largest variance that the scale of {measure} allows; same items, correlation 0.5; {items} items",
    "detects": "{items} items find a difference of {difference} with a power of 80 % (two-sided, 5 %)",
    "usd": "USD for 1,000 replies",
    "tokens": "tokens written per reply",
    "seconds": "seconds per reply (median)",
    "cost_note": "replies of the model under test alone, without judges",
    "left_out": "left out, without a known price: {models}",
    "partly_unknown": "replies without a known cost, which the cost leaves out: {replies}",
    "frontier": "line: models that no other beats at the same cost or less",
    "caution": "figures of mock or small local models: they say nothing about any model's worth",
    "stopped": "stopped early: intervals are those of confidence sequences; values exaggerate how far models are apart",
    "lower": "lower is better",
    "changed": "scores mean something else from run {run} on",
    "ended": "run {run} is {status}, so some is missing",
    "valueless": "without a value: {runs}",
    "between": "; ",
    "title_heatmap": "by scenario and metric",
    "title_power": "power",
    "title_cost": "cost and score",
}
CHINESE = {
    "model": "模型",
    "scenario": "场景",
    "metric": "指标",
    "interval": "线段为 95 % 区间",
    "letters": "字母相同的模型无显著差异（Holm 校正，5 %）",
    "n": "n = {n} 个评分，{items} 个题目；覆盖率 {coverage}",
    "share": "在量表上的位置",
    "share_note": "0 为量表最低分，1 为最高分；每格 n = {n} 个评分",
    "radar_note": "中心为量表最低分，外圈为最高分",
    "gain_note": "与 {against} 相比",
    "human": "{human} 的评分",
    "judge": "{judge} 的评分",
    "judges_title": "{judges} 与 {human} 对照",
    "judged": "{n} 个评分；相同 {exact}，相差不超过 1 分 {within}，r = {r}",
    "judges_note": "圆面积为评分个数；斜线上双方评分相同",
    "calibration_title": "{judges} 由 {human} 校准",
    "calibration_note": "虚线上人工评分的均值与评审相同",
    "people_mean": "人工评分均值",
    "scores": "评分数",
    "items": "题目数",
    "power": "检验功效",
    "difference": "真实差异",
    "power_note": "{a} 与 {b}，同一批 {items} 个题目：{measure} 之差的标准误为 {error}",
    "bound_note": "按 {measure} 量表允许的最大方差；题目相同，相关系数 0.5；{items} 个题目",
    "detects": "{items} 个题目能以 80 % 的功效检出 {difference} 的差异（双侧，5 %）",
    "usd": "每千次回答的美元",
    "tokens": "每次回答的输出词元数",
    "seconds": "每次回答的秒数（中位数）",
    "cost_note": "仅计被测模型的回答，不含评审",
    "left_out": "价格未知，未画出：{models}",
    "partly_unknown": "费用未知、未计入费用的回答：{replies}",
    "frontier": "折线：在同等或更低成本下无其他模型胜过的模型",
    "caution": "图中含模拟模型或小型本地模型，数值不说明任何模型的优劣",
    "stopped": "提前停止：区间是置信序列的区间；数值夸大了模型之间的差距",
    "lower": "越低越好",
    "changed": "从运行 {run} 起，分数的含义不同",
    "ended": "运行 {run} 没有完成，因此缺少一部分",
    "valueless": "没有数值：{runs}",
    "between": "；",
    "title_heatmap": "按场景与指标",
    "title_power": "检验功效",
    "title_cost": "成本与得分",
}
WORDS: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh": CHINESE}


def words_for(language: str) -> Mapping[str, str]:
    """Return the words for a language; English if there are none.

    >>> words_for("zh")["model"], words_for("fr")["model"]
    ('模型', 'model')
    """
    return WORDS.get(language, ENGLISH)
