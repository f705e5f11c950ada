"""What each fix would bring: retrieval fixes carried out on the data at hand, answers estimated or asked for again."""
