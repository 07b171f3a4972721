#!/usr/bin/env bash
# Checks the benchmarks of a workflow, and shows what a pull request changes. Called by action.yml.
set -uo pipefail

case "${UNTRUSTED:-auto}" in
  true) untrusted=1 ;;
  false) untrusted=0 ;;
  auto)
    # A fork that was deleted has no name, and counts as one.
    case "${EVENT:-}" in
      pull_request*) if [ "${HEAD_REPOSITORY:-}" = "$REPOSITORY" ]; then untrusted=0; else untrusted=1; fi ;;
      push | schedule | workflow_dispatch | merge_group | release) untrusted=0 ;;
      *) untrusted=1 ;;
    esac
    ;;
  *)
    echo "::error::untrusted is true, false or auto, not ${UNTRUSTED//[^a-zA-Z0-9]/}"
    exit 2
    ;;
esac
export TRIPOS_UNTRUSTED=$untrusted
if [ "$untrusted" = 1 ]; then
  echo "The benchmarks are checked as a stranger's: without their Python, without connections, within lower limits."
fi

specs=() options=() denied=()
while IFS= read -r line; do [ -n "$line" ] && specs+=("$line"); done <<<"${SPECS:-}"
while IFS= read -r line; do [ -n "$line" ] && options+=("--data=$line"); done <<<"${DATA:-}"
[ -n "${DENY:-}" ] && denied+=("--deny=$DENY")
if [ "${#specs[@]}" = 0 ]; then
  echo "::error::specs names no benchmark"
  exit 2
fi

tripos check --format github ${options[@]+"${options[@]}"} ${denied[@]+"${denied[@]}"} -- "${specs[@]}"
code=$?

# Write a comment on the pull request, or the one that an earlier job wrote: its first line tells it from others.
write_comment() {
  local id
  id=$(gh api --paginate "repos/$REPOSITORY/issues/$NUMBER/comments" \
    --jq ".[] | select(.body | startswith(\"$MARK\")) | .id" | head -n 1)
  if [ -n "$id" ]; then
    gh api --silent -X PATCH "repos/$REPOSITORY/issues/comments/$id" -F "body=@$1"
  else
    gh api --silent "repos/$REPOSITORY/issues/$NUMBER/comments" -F "body=@$1"
  fi
}

MARK="<!-- tripos -->"
if [ "${DIFF:-true}" = true ] && [ -n "${BASE_SHA:-}" ] && [ "$code" = 0 ]; then
  git fetch --quiet --depth=1 origin "$BASE_SHA" || echo "::notice::the base of the pull request cannot be fetched"
  figures=() changes=$(mktemp)
  echo "$MARK" >"$changes"
  [ -n "${STORE:-}" ] && figures+=("--store=$STORE")
  for spec in "${specs[@]}"; do
    if git cat-file -e "$BASE_SHA:${spec%/}" 2>/dev/null; then
      tripos diff --format github ${options[@]+"${options[@]}"} ${figures[@]+"${figures[@]}"} -- \
        "$BASE_SHA:${spec%/}" "$spec" >>"$changes" || echo "::warning::the changes of a benchmark cannot be shown"
    fi
  done
  cat "$changes" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
  if [ "${COMMENT:-false}" = true ] && [ -n "${NUMBER:-}" ] && [ "$(wc -l <"$changes")" -gt 1 ]; then
    write_comment "$changes" || echo "::warning::the comment cannot be written: it needs \`pull-requests: write\`"
  fi
  rm -f "$changes"
fi

if [ -n "${COMPARE:-}" ]; then
  read -r -a runs <<<"$COMPARE"
  kept=()
  [ -n "${STORE:-}" ] && kept+=("--store=$STORE")
  read -r -a margins <<<"${WITHIN:-}"
  within=(${margins[@]+"${margins[@]/#/--within=}"})
  gate=()
  [ -n "${FAIL_ON:-}" ] && gate+=("--fail-on=$FAIL_ON")
  tripos compare "--junit=${JUNIT:-tripos-compare.xml}" ${gate[@]+"${gate[@]}"} ${kept[@]+"${kept[@]}"} ${within[@]+"${within[@]}"} -- "${runs[@]}" || code=$?
fi
exit "$code"
