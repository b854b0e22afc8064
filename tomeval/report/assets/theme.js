// Colours: as the system has them, or as the reader chooses.
{
  const choice = document.getElementById("theme");
  const apply = (value) => {
    if (value === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = value;
  };
  let kept = null;
  try {
    kept = localStorage.getItem("tomeval-theme");
  } catch {
    // A page opened from disk may have no storage: the choice then lasts as long as the page.
  }
  if (kept === "light" || kept === "dark") {
    choice.value = kept;
    apply(kept);
  }
  choice.addEventListener("change", () => {
    apply(choice.value);
    try {
      localStorage.setItem("tomeval-theme", choice.value);
    } catch {
      // As above.
    }
  });
}
