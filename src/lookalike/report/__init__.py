"""What a run says about itself: certificate, figures, examples, and the page that shows them."""
