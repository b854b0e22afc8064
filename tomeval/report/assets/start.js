// The page is complete: show its episodes.
guarded(browser.start);
