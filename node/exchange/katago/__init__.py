"""Games as rows to train on, in the files of KataGo."""
