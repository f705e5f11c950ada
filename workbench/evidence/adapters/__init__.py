"""Other libraries' judgements shown beside ours."""
