from .copies import (
    same_content as same_content,
    same_files as same_files,
    told_apart as told_apart,
    unmarked as unmarked,
)
