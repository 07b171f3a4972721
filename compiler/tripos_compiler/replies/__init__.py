"""Reading of replies: the normal form of a reply, and its numbers, choices and verdicts.

The package is below the function library and the runtime, so that a typed reply, a judge's score and a library function
read the same text alike. It is pure and does not know plans.

| module | subject |
| --- | --- |
| `text` | the normal form of a reply: the answer without the thinking, and texts as they are compared |
| `number_tokens` | the scanner of numbers in every notation, and the number formats of locales |
| `numbers` | the number that a reply states, and the labels of answers and scores |
| `places` | explicit forms of an answer: a field of JSON, a box, a tag |
| `frames` | whether a mention is affirmed, denied, asked, quoted or compared |
| `choices` | the option that a reply chooses |
| `names` | the name that a reply gives, such as a verdict or a level |
| `truth` | yes or no, right or wrong |
| `stated_forms` | a verdict in a form that an author states, such as `[[{}]]` |
"""
