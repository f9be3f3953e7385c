"""Files and folders of Statewright on the disk: who may read them, and how they are written."""
