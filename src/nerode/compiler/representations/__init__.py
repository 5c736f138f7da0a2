"""Orthogonal matrices for the letters of a group language: few reflections, little room."""
