"""Reading of replies: the normal form of a reply, and the numbers, choices and verdicts that stand in one.

The room lies below the library of functions and the runtime, so that a typed reply, a judge's score and a function of
the library read the same text alike. It is pure and knows nothing of plans.

| module | subject |
| --- | --- |
| `text` | the normal form: the answer apart from the thinking, and the form in which texts are compared |
| `locales` | how languages write numbers |
| `number_text` | the text in which numbers are looked for |
| `number_labels` | what announces an answer or a score |
| `number_tokens` | the one scanner of numbers, in every notation |
| `numbers` | which of its numbers a reply states |
| `places` | the forms of its own in which a reply says its answer: a field of JSON, a box, a tag |
| `frames` | where an answer stands, and what is denied, asked, quoted or compared |
| `choices` | the option or the name that a reply chooses |
| `truth` | yes or no, right or wrong |
| `late_patterns` | regular expressions that are compiled when they are first used |
"""
